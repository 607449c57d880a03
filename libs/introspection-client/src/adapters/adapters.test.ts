import { Code, ConnectError, createContextValues, type UnaryRequest } from '@connectrpc/connect';
import { Client, credentials, Metadata, Server, ServerCredentials, status } from '@grpc/grpc-js';
import fastify from 'fastify';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { active, stub } from '../testing/stub.ts';
import type { ActiveToken } from '../introspector-types.ts';
import { connectBearer, connectToken } from './connect-bearer.ts';
import { expressBearer } from './express-bearer.ts';
import { fastifyBearer } from './fastify-bearer.ts';
import { grpcBearer, grpcToken } from './grpc-bearer.ts';

const requirement = { audience: active.aud, scopes: ['orders.read'], realm: 'orders' };
const scarce = { ...requirement, scopes: ['orders.delete'] };

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

type Ask = (
  authorization: string | undefined,
) => Promise<{ status: number; headers: Headers; body: unknown }>;

async function overFastify(required = requirement): Promise<Ask> {
  const app = fastify();
  cleanUps.push(() => app.close());
  app.decorateRequest('token', null);
  app.addHook('onRequest', fastifyBearer(stub(), required));
  app.get('/', (request) => (request as typeof request & { token: ActiveToken }).token);
  return asker(await app.listen({ host: '127.0.0.1', port: 0 }));
}

/** Express hands its middleware the request and response of `node:http`, with more methods. */
async function overNode(required = requirement): Promise<Ask> {
  const middleware = expressBearer(stub(), required);
  const server = createServer((request, response) => {
    void middleware(request, response, () =>
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify((request as IncomingMessage & { token: ActiveToken }).token)),
    );
  });
  cleanUps.push(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return asker(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function asker(url: string): Ask {
  return async (authorization) => {
    const response = await fetch(url, authorization === undefined ? {} : { headers: { authorization } });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
}

describe.each([
  ['Fastify', overFastify],
  ['Express and node:http', overNode],
])('the adapter for %s', (_, open) => {
  it('puts the token on the request', async () => {
    const ask = await open();
    expect(await ask('Bearer good')).toMatchObject({ status: 200, body: active });
  });

  it('answers as RFC 6750 requires, and with 503 if introspection is unavailable', async () => {
    const ask = await open();
    const none = await ask(undefined);
    expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="orders"']);
    const bad = await ask('Bearer bad');
    expect([bad.status, bad.body]).toEqual([
      401,
      { error: 'invalid_token', message: 'The access token is not valid here.' },
    ]);
    expect(bad.headers.get('www-authenticate')).toContain('error="invalid_token"');
    expect((await ask('Bearer a b')).status).toBe(400);
    const unavailable = await ask('Bearer unavailable');
    expect([unavailable.status, unavailable.headers.get('retry-after')]).toEqual([503, '7']);
    const narrow = await (await open(scarce))('Bearer good');
    expect(narrow.status).toBe(403);
    expect(narrow.headers.get('www-authenticate')).toContain('scope="orders.delete"');
  });
});

describe('the interceptor for Connect', () => {
  async function call(authorization: string | undefined, required = requirement) {
    const header = new Headers(authorization === undefined ? {} : { authorization });
    const request = { header, contextValues: createContextValues() } as UnaryRequest;
    let seen: ActiveToken | undefined;
    const handler = connectBearer(
      stub(),
      required,
    )(async (passed) => {
      seen = passed.contextValues.get(connectToken);
      return {} as never;
    });
    await handler(request);
    return seen;
  }

  it('stores the token in the context values', async () => {
    expect(await call('Bearer good')).toEqual(active);
  });

  it.each([
    [undefined, requirement, Code.Unauthenticated],
    ['Bearer bad', requirement, Code.Unauthenticated],
    ['Bearer good', scarce, Code.PermissionDenied],
    ['Bearer unavailable', requirement, Code.Unavailable],
  ])('answers %s under %j with code %i and the challenge', async (authorization, required, code) => {
    const error = await call(authorization, required).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ConnectError);
    expect(error).toMatchObject({ code });
    const metadata = error instanceof ConnectError ? error.metadata : new Headers();
    expect(metadata.has('www-authenticate')).toBe(code !== Code.Unavailable);
  });
});

describe('the interceptor for grpc-js', () => {
  const same = (bytes: Buffer) => bytes;
  const path = '/orders.v1.Orders/Get';

  async function call(authorization: string | undefined, required = requirement) {
    const server = new Server({ interceptors: [grpcBearer(stub(), required)] });
    let seen: ActiveToken | undefined;
    server.addService(
      {
        Get: {
          path,
          requestStream: false,
          responseStream: false,
          requestSerialize: same,
          requestDeserialize: same,
          responseSerialize: same,
          responseDeserialize: same,
        },
      },
      {
        Get: (received: { metadata: Metadata }, respond: (error: null, answer: Buffer) => void) => {
          seen = grpcToken(received.metadata);
          respond(null, Buffer.from('done'));
        },
      },
    );
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
    cleanUps.push(
      () => client.close(),
      () => server.forceShutdown(),
    );
    const metadata = new Metadata();
    if (authorization !== undefined) metadata.set('authorization', authorization);
    return new Promise<{ code: status; challenge: unknown; seen: ActiveToken | undefined }>((resolve) => {
      client.makeUnaryRequest(path, same, same, Buffer.alloc(0), metadata, (error) =>
        resolve({
          code: error?.code ?? status.OK,
          challenge: error?.metadata.get('www-authenticate')[0],
          seen,
        }),
      );
    });
  }

  it('hands the token to the handler with the metadata', async () => {
    expect(await call('Bearer good')).toEqual({ code: status.OK, challenge: undefined, seen: active });
  });

  it('answers with status and challenge without calling the handler', async () => {
    expect(await call(undefined)).toMatchObject({
      code: status.UNAUTHENTICATED,
      challenge: 'Bearer realm="orders"',
    });
    expect(await call('Bearer bad')).toMatchObject({ code: status.UNAUTHENTICATED, seen: undefined });
    expect(await call('Bearer good', scarce)).toMatchObject({
      code: status.PERMISSION_DENIED,
      seen: undefined,
    });
    expect(await call('Bearer unavailable')).toMatchObject({
      code: status.UNAVAILABLE,
      challenge: undefined,
    });
  });
});
