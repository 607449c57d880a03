import { Code } from '@connectrpc/connect';
import { Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterEach, expect, test } from 'vitest';
import type { AuthenticateBearer, CallContext, CallerName, Principal } from '../../call.ts';
import { route } from '../../call.ts';
import { openRemoteService } from '../../client/remote.ts';
import { serve } from './serve-grpc.ts';
import type { RpcServer, ServeOptions } from './serve-grpc.ts';
import { declaring } from '../../testing/declaring.ts';
import { freshAuthority, writeIdentity } from '../../testing/set-ups.ts';
import { patienceMs } from '../../testing/servers.ts';
import { stockCall, stockHealth, stockReflection } from '../../testing/stock-clients.ts';
import { createSubject, writeRequest } from '../../testing/subject.ts';
import { Secret } from '@tessera/kit';
import { TrialService } from '../../testing/trial/trial-services.ts';

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const shared = new Secret('a shared token for this test');
const path = '/tessera.trial.v1.TrialService/Read';
const writePath = '/tessera.trial.v1.TrialService/Write';

const authenticate: AuthenticateBearer = async (accessToken) => {
  const identity = { caller: 'introspector', principal: { kind: 'client', id: 'orders-api' } } as const;
  if (accessToken === 'good') return { ...identity, scopes: ['tokens.introspect'] };
  if (accessToken === 'other') return { ...identity, scopes: ['orders.read'] };
  if (accessToken === 'unavailable') throw temporarilyUnavailable();
  if (accessToken === 'narrow') throw new OAuthError('insufficient_scope', 'It lacks the scope.');
  if (accessToken === 'broken') throw new Error('a defect');
  throw new OAuthError('invalid_token', 'It is not valid.');
};

interface Seen {
  caller: CallerName;
  principal: Principal | undefined;
}

/** A service with one method that clients of ours may call and one that they may not. */
async function stand(options: Pick<ServeOptions, 'credentials' | 'certificates'>, bearer = true) {
  const { log, lines } = createSubject();
  const seen: Seen[] = [];
  const note = ({ caller, principal }: CallContext) => {
    seen.push({ caller, principal });
    return {};
  };
  const trial = route(
    declaring(TrialService, {
      read: { callers: ['introspector', 'token'], scopes: ['tokens.introspect'] },
    }),
    {
      write: (_, context) => note(context),
      read: (_, context) => note(context),
      change: () => ({}),
    },
    bearer ? { bearer: authenticate } : {},
  );
  const built = { name: 'keys' as const, routes: [trial], ready: async () => {}, close: async () => {} };
  const server = await serve(built, { host: '127.0.0.1', port: 0, log, drainMs: 200, ...options });
  cleanUps.push(() => server.drain());
  return { server, seen, lines, log };
}

const target = (server: RpcServer) => `${server.host}:${server.port}`;

function authorization(value: string, caller?: string): Metadata {
  const metadata = new Metadata();
  metadata.set('authorization', value);
  if (caller !== undefined) metadata.set('x-tessera-caller', caller);
  return metadata;
}

const sharedTokens = { credentials: { kind: 'token', token: shared } } as const;

test('an access token identifies the caller, whatever the call claims', async () => {
  const { server, seen } = await stand(sharedTokens);
  await stockCall(target(server), path, authorization('Bearer good', 'token'));
  expect(seen).toEqual([{ caller: 'introspector', principal: { kind: 'client', id: 'orders-api' } }]);
  const forbidden = stockCall(target(server), writePath, authorization('Bearer good', 'token'));
  await expect(forbidden).rejects.toMatchObject({ code: status.PERMISSION_DENIED });
  expect(seen).toHaveLength(1);
});

test('the shared token is not an access token, and its holder has no principal', async () => {
  const { server, seen } = await stand(sharedTokens);
  await stockCall(target(server), path, authorization(`Bearer ${shared.reveal()}`, 'introspector'));
  expect(seen).toEqual([{ caller: 'introspector', principal: undefined }]);
});

test.each([
  ['bad', status.UNAUTHENTICATED],
  ['narrow', status.PERMISSION_DENIED],
  ['other', status.PERMISSION_DENIED],
  ['unavailable', status.UNAVAILABLE],
  ['broken', status.INTERNAL],
])('the access token %s is answered with status %i and reaches no handler', async (accessToken, code) => {
  const { server, seen, lines } = await stand(sharedTokens);
  const refused = stockCall(target(server), path, authorization(`Bearer ${accessToken}`));
  await expect(refused).rejects.toMatchObject({ code });
  expect(seen).toEqual([]);
  expect(JSON.stringify(lines)).not.toContain(`Bearer ${accessToken}`);
});

test.each(['', 'Basic good', 'Bearer', 'Bearer good good', 'good'])(
  'the authorization "%s" is no access token',
  async (value) => {
    const { server } = await stand(sharedTokens);
    const refused = stockCall(target(server), path, authorization(value, 'introspector'));
    await expect(refused).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  },
);

test('a service that does not take access tokens refuses them', async () => {
  const { server, seen } = await stand(sharedTokens, false);
  const refused = stockCall(target(server), path, authorization('Bearer good'));
  await expect(refused).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
  expect(seen).toEqual([]);
});

async function mutual(certificates: 'required' | 'optional') {
  const directory = await mkdtemp(join(tmpdir(), 'bearer-'));
  cleanUps.push(() => rm(directory, { recursive: true }));
  const authority = await freshAuthority();
  const credentials = { kind: 'mtls', ...(await writeIdentity(directory, 'keys', authority)) } as const;
  const stood = await stand({ credentials, certificates });
  const call = async (files: Awaited<ReturnType<typeof writeIdentity>>) => {
    const peer = openRemoteService({
      target: target(stood.server),
      as: 'token',
      peer: 'keys',
      credentials: { kind: 'mtls', ...files },
      log: stood.log,
    });
    cleanUps.push(() => peer.close());
    return peer.client(TrialService).read({}, { timeoutMs: patienceMs });
  };
  return { ...stood, directory, authority, call };
}

/** Whether a connection with these certificates, or none, survives the handshake. */
function survives(port: number, options: { ca: string; cert?: string; key?: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({
      port,
      host: '127.0.0.1',
      servername: 'keys',
      ALPNProtocols: ['h2'],
      ...options,
    });
    socket.on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
    // The server's settings frame: it took the connection.
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
  });
}

test('where certificates are optional, a certificate still identifies its caller', async () => {
  const { authority, directory, call, seen } = await mutual('optional');
  await call(await writeIdentity(directory, 'introspector.orders', authority));
  await call(await writeIdentity(directory, 'token', authority));
  expect(seen).toEqual([
    { caller: 'introspector', principal: { kind: 'certificate', id: 'introspector.orders' } },
    { caller: 'token', principal: undefined },
  ]);
});

test('where certificates are optional, a connection needs none, and an invalid one proves nothing', async () => {
  const { server, authority, directory, call, seen } = await mutual('optional');
  expect(await survives(server.port, { ca: authority.cert })).toBe(true);
  const foreign = await writeIdentity(directory, 'token', await freshAuthority(), [authority]);
  await expect(call(foreign)).rejects.toMatchObject({ code: Code.Unauthenticated });
  expect(seen).toEqual([]);
});

test('where certificates are required, an invalid one gets no connection', async () => {
  const { server, authority } = await mutual('required');
  const foreign = await (await freshAuthority()).issue('token');
  expect(await survives(server.port, { ca: authority.cert, ...foreign })).toBe(false);
});

test('where certificates are required, a caller without one gets no connection', async () => {
  const { server, authority } = await mutual('required');
  expect(await survives(server.port, { ca: authority.cert })).toBe(false);
});

test('a caller without certificate and access token is unauthenticated everywhere', async () => {
  const { server, authority, seen } = await mutual('optional');
  const { credentials, Client } = await import('@grpc/grpc-js');
  const client = new Client(target(server), credentials.createSsl(Buffer.from(authority.cert)), {
    'grpc.ssl_target_name_override': 'localhost',
  });
  cleanUps.push(() => client.close());
  const same = (bytes: Buffer) => bytes;
  const call = (method: string, metadata: Metadata) =>
    new Promise<ServiceError | null>((resolve) => {
      client.makeUnaryRequest(method, same, same, Buffer.alloc(0), metadata, (error) => resolve(error));
    });
  for (const method of [path, writePath, '/grpc.health.v1.Health/Check']) {
    expect(await call(method, new Metadata())).toMatchObject({
      code: status.UNAUTHENTICATED,
      details:
        'the caller is not authenticated: present a client certificate, or send "authorization: Bearer <access token>"',
    });
    expect(await call(method, authorization('Bearer bad', 'token'))).toMatchObject({
      code: status.UNAUTHENTICATED,
    });
  }
  expect(await call(path, authorization('Bearer good'))).toBeNull();
  expect(seen).toEqual([{ caller: 'introspector', principal: { kind: 'client', id: 'orders-api' } }]);
});

test('a server for access tokens alone believes no other proof', async () => {
  const { server, seen } = await stand({ credentials: { kind: 'bearer' } });
  expect(await stockHealth(target(server), authorization('Bearer good'))('')).toBe('SERVING');
  await stockCall(target(server), path, authorization('Bearer good', 'token'));
  expect(seen).toEqual([{ caller: 'introspector', principal: { kind: 'client', id: 'orders-api' } }]);
  const named = new Metadata();
  named.set('x-tessera-caller', 'token');
  await expect(stockCall(target(server), path, named)).rejects.toMatchObject({
    code: status.UNAUTHENTICATED,
    details: 'the caller is not authenticated: send "authorization: Bearer <access token>"',
  });
  for (const refused of [`Bearer ${shared.reveal()}`, 'Bearer bad', 'Bearer '])
    await expect(stockCall(target(server), path, authorization(refused, 'token'))).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
  expect(seen).toHaveLength(1);
});

test('calls with and without access tokens do not disturb one another', async () => {
  const { server, seen } = await stand(sharedTokens);
  const peer = openRemoteService({
    target: target(server),
    as: 'token',
    credentials: sharedTokens.credentials,
    defaultTimeoutMs: patienceMs,
  });
  cleanUps.push(() => peer.close());
  await Promise.all([
    ...Array.from({ length: 20 }, () => stockCall(target(server), path, authorization('Bearer good'))),
    ...Array.from({ length: 20 }, () => peer.client(TrialService).write(writeRequest())),
  ]);
  expect(seen.filter(({ caller }) => caller === 'introspector')).toHaveLength(20);
  expect(seen.filter(({ caller }) => caller === 'token')).toHaveLength(20);
});

test.each(['v1', 'v1alpha'])('a caller with an access token may use reflection %s', async (version) => {
  const { server } = await stand(sharedTokens);
  const ask = stockReflection(target(server), version, authorization('Bearer good'));
  const { listServicesResponse } = await ask({ listServices: '*' });
  expect(listServicesResponse?.service.map(({ name }) => name)).toEqual(['tessera.trial.v1.TrialService']);
  const refused = stockReflection(target(server), version, authorization('Bearer bad'));
  await expect(refused({ listServices: '*' })).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
});

test('a caller with an access token may ask for the health if it has a scope of some method', async () => {
  const { server } = await stand(sharedTokens);
  expect(await stockHealth(target(server), authorization('Bearer good'))('')).toBe('SERVING');
  await expect(stockHealth(target(server), authorization('Bearer other'))('')).rejects.toMatchObject({
    code: status.PERMISSION_DENIED,
  });
});

test('a refusal of a caller without an identity names the missing header', async () => {
  const { server } = await stand(sharedTokens);
  const refusal = async (metadata: Metadata) =>
    stockCall(target(server), path, metadata).catch((error: { details: string }) => error.details);
  expect(await refusal(new Metadata())).toBe(
    'the caller is not authenticated: send "authorization: Bearer <TESSERA_RPC_TOKEN>", or send "authorization: Bearer <access token>"',
  );
  const named = `the caller has no name: send "x-tessera-caller: <process>", or send "authorization: Bearer <access token>"`;
  expect(await refusal(authorization(`Bearer ${shared.reveal()}`))).toBe(named);
  expect(await refusal(authorization(`Bearer ${shared.reveal()}`, 'nobody'))).toBe(named);
  const plain = await stand({ credentials: { kind: 'none' } }, false);
  await expect(stockCall(target(plain.server), path, new Metadata())).rejects.toMatchObject({
    details: 'the caller has no name: send "x-tessera-caller: <process>"',
  });
});
