import { readFileSync } from 'node:fs';
import { credentials, loadPackageDefinition, Metadata, type Client, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ordersAudience } from '../../harness/declared-state.ts';
import { tokensOf } from '@tessera/test-client';
import { clientCredentials } from '../../harness/flows.ts';
import { introspectorSecret, startReplicated, type Replicated } from './introspection-set-up.ts';

/** A CheckRequest as Envoy 1.40.0 sent it: a token "garbage", and what the route demands. */
const recorded = Buffer.from(
  'Cs8EChMKEQoPEgkxMjcuMC4wLjEYgpsCEhIKEAoOEgkxMjcuMC4wLjEYyFwi0AMKCwin7o7YBhCA1cRPEsADChMxODgxMTMzNDgyNDEzMDA2MDI3EgNHRVQaHQoKOmF1dGhvcml0eRIPMTI3LjAuMC4xOjExODQ4Gg0KBmFjY2VwdBIDKi8qGjQKDHgtcmVxdWVzdC1pZBIkOTcyZDIwNWUtYjQyOC00OGM0LWJjZTYtOGI1MmY1NWE4MzgxGhYKDngtYXV0aC1zdWJqZWN0EgRldmlsGhIKCnVzZXItYWdlbnQSBG5vZGUaDgoHOm1ldGhvZBIDR0VUGiAKD2FjY2VwdC1lbmNvZGluZxINZ3ppcCwgZGVmbGF0ZRoZChF4LWZvcndhcmRlZC1wcm90bxIEaHR0cBofCg1hdXRob3JpemF0aW9uEg5CZWFyZXIgZ2FyYmFnZRoOCgU6cGF0aBIFL3JlYWQaFQoMeC1hdXRoLXJvbGVzEgVhZG1pbhoPCgc6c2NoZW1lEgRodHRwGhgKEHgtYXV0aC10ZW5hbnQtaWQSBGV2aWwaFgoOc2VjLWZldGNoLW1vZGUSBGNvcnMaFAoPYWNjZXB0LWxhbmd1YWdlEgEqIgUvcmVhZCoPMTI3LjAuMC4xOjExODQ4MgRodHRwUghIVFRQLzEuMVIUCgVzY29wZRILb3JkZXJzLnJlYWRSDgoGdGVuYW50EgRhY21lUicKCGF1ZGllbmNlEhtodHRwczovL29yZGVycy5hY21lLmV4YW1wbGVaAGoA',
  'base64',
);

interface Header {
  readonly header: { readonly key: string; readonly value: string };
}
interface Answer {
  readonly status: { readonly code: number } | null;
  readonly deniedResponse?: {
    readonly status: { readonly code: string };
    readonly headers: readonly Header[];
  };
  readonly okResponse?: { readonly headers: readonly Header[]; readonly headersToRemove: readonly string[] };
}
type Done = (error: ServiceError | null, answer: Answer) => void;
interface Authorization extends Client {
  check(request: object, metadata: Metadata, done: Done): void;
}

/** A stock gRPC client on the listener for callers outside, as Envoy is one. */
describe('envoy.service.auth.v3.Authorization/Check', () => {
  let system: Replicated;
  let accessToken: string;
  const clients: Client[] = [];
  beforeAll(async () => {
    system = await startReplicated({ replicas: 1, running: 1 });
    accessToken = tokensOf(await clientCredentials(system.http, 'acme-service', 'standard')).accessToken;
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await system?.stop();
  });

  function connect(certificate?: string): Authorization {
    const path = 'envoy/service/auth/v3/external_auth.proto';
    const definition = loadSync(path, { includeDirs: ['proto'], enums: String, defaults: true });
    const { envoy } = loadPackageDefinition(definition) as unknown as {
      envoy: { service: { auth: { v3: { Authorization: new (...given: unknown[]) => Authorization } } } };
    };
    const { cert, key } = system.files.certificates[certificate ?? ''] ?? {};
    const read = (file?: string) => (file === undefined ? null : readFileSync(file));
    const client = new envoy.service.auth.v3.Authorization(
      `localhost:${system.tokens[0]?.introspectionPort}`,
      credentials.createSsl(readFileSync(system.files.ca), read(key), read(cert)),
    );
    clients.push(client);
    return client;
  }

  function ask(client: Authorization, token: string, contextExtensions: object, caller?: string) {
    const http = { headers: { authorization: `Bearer ${token}`, 'x-auth-subject': 'somebody else' } };
    const metadata = new Metadata();
    if (caller !== undefined) metadata.set('authorization', `Bearer ${caller}`);
    return new Promise<Answer>((resolve, reject) =>
      client.check({ attributes: { request: { http }, contextExtensions } }, metadata, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      ),
    );
  }

  const valueOf = (headers: readonly Header[] | undefined, name: string) =>
    headers?.find(({ header }) => header.key === name)?.header.value;

  it('decides for a proxy with a certificate as GET /auth/verify does', async () => {
    const envoy = connect('introspector');
    const passed = await ask(envoy, accessToken, { audience: ordersAudience, scope: 'orders.read' });
    expect(passed.status?.code).toBe(0);
    expect(valueOf(passed.okResponse?.headers, 'x-auth-subject')).toBe('acme-service');
    expect(passed.okResponse?.headersToRemove).toEqual(['x-auth-roles']);
    const lacking = await ask(envoy, accessToken, { audience: ordersAudience, scope: 'orders.write' });
    expect(lacking.deniedResponse?.status.code).toBe('Forbidden');
    const other = await ask(envoy, accessToken, { audience: 'https://other.example' });
    expect(other.deniedResponse?.status.code).toBe('Unauthorized');
    const denied: [Record<string, string>, Answer][] = [
      [{ audience: ordersAudience, scope: 'orders.write' }, lacking],
      [{ audience: 'https://other.example' }, other],
    ];
    for (const [demand, answer] of denied) {
      const query = new URLSearchParams(demand).toString();
      const headers = { authorization: `Bearer ${accessToken}` };
      const verified = await system.http.ask('GET', `/auth/verify?${query}`, { headers });
      expect(valueOf(answer.deniedResponse?.headers, 'www-authenticate')).toBe(
        verified.header('www-authenticate'),
      );
    }
  });

  it('accepts a proxy with an access token, and refuses one without an identity', async () => {
    const basic = Buffer.from(`acme-introspector:${introspectorSecret}`).toString('base64');
    const answer = await system.http.ask('POST', '/token', {
      headers: { authorization: `Basic ${basic}` },
      form: { grant_type: 'client_credentials', scope: 'tokens.introspect' },
    });
    const caller = tokensOf(answer).accessToken;
    const demand = { audience: ordersAudience };
    expect((await ask(connect(), accessToken, demand, caller)).okResponse).toBeTruthy();
    await expect(ask(connect(), accessToken, demand)).rejects.toMatchObject({ code: 16 });
    await expect(ask(connect(), accessToken, demand, accessToken)).rejects.toMatchObject({ code: 7 });
  });

  it('reads a request that Envoy sent', async () => {
    const client = connect('introspector');
    const path = '/envoy.service.auth.v3.Authorization/Check';
    const same = (bytes: Buffer) => bytes;
    const answer = await new Promise<Buffer>((resolve, reject) =>
      client.makeUnaryRequest(path, same, same, recorded, (error, body) =>
        error === null && body !== undefined ? resolve(body) : reject(error ?? new Error('no answer')),
      ),
    );
    expect(answer.toString('latin1')).toContain('error="invalid_token"');
  });
});
