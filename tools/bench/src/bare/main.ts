/**
 * The floor of the stack: a bare Fastify server and an empty grpc-js handler that parse the same requests as the
 * product, decide nothing, and answer with a constant; a sign-in costs them one password hash.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import { fastify } from 'fastify';
import { IntrospectResponseSchema } from '@tessera/proto-gen/token';

const [port = '', callPort = ''] = process.argv.slice(2);

const same = (value: Buffer): Buffer => value;
const answer = Buffer.from(
  toBinary(IntrospectResponseSchema, create(IntrospectResponseSchema, { active: true, sub: 'somebody' })),
);
const calls = new Server();
calls.addService(
  {
    introspect: {
      path: '/tessera.token.v1.IntrospectionService/Introspect',
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  },
  {
    introspect: (_call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>) => done(null, answer),
  },
);

const server = fastify();
const form = { parseAs: 'string' } as const;
server.addContentTypeParser(
  'application/x-www-form-urlencoded',
  form,
  async (_request: unknown, body: string) => Object.fromEntries(new URLSearchParams(body)),
);
const active = {
  isSuccess: true,
  data: { active: true, sub: 'somebody', client_id: 'a-client', scope: 'orders.read', exp: 2_000_000_000 },
};
server.post('/introspect', async () => active);
server.post('/token', async (_request, reply) =>
  reply
    .code(400)
    .send({ error: 'authorization_pending', error_description: 'The person has not decided yet.' }),
);
const passwordHash = promisify(argon2);
server.post('/login', async (_request, reply) => {
  const nonce = randomBytes(16);
  const work = { message: 'a password', nonce, memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
  await passwordHash('argon2id', work);
  return reply.redirect('/callback?code=x', 303);
});
const padding = 'x'.repeat(1200);
server.get('/.well-known/openid-configuration', async () => ({ issuer: 'http://localhost', padding }));
server.get('/.well-known/jwks.json', async () => ({ keys: [{ kty: 'RSA', n: padding }] }));
server.get('/ready', async () => ({}));

await new Promise<void>((resolve, reject) => {
  calls.bindAsync(`127.0.0.1:${callPort}`, ServerCredentials.createInsecure(), (error) =>
    error === null ? resolve() : reject(error),
  );
});
await server.listen({ host: '127.0.0.1', port: Number(port) });
