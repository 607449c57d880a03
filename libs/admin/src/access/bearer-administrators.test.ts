import { adminAudience, adminScopes } from '@tessera/oauth';
import {
  ApplicationSchema,
  GetApplicationResponseSchema,
  GetUserResponseSchema,
  Status,
  TenantSchema,
  UserSchema,
} from '@tessera/proto-gen/directory';
import { IntrospectResponseSchema, TokenKind } from '@tessera/proto-gen/token';
import { Code, ConnectError, create, rootCall } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { administratorAuthentication } from './bearer-administrators.ts';

const changedAt = 1_000;

interface Asked {
  readonly age?: number;
  readonly owners?: readonly string[];
  readonly scope?: string;
}

/**
 * What is believed of a token of `clientId` for `sub`, issued `age` seconds after application and person were changed.
 */
async function believed(
  clientId: string,
  sub: string,
  { age = 0, owners = [], scope = 'admin.users.read' }: Asked = {},
) {
  const token = { sub, clientId, tenantId: 'ops', iss: 'https://id.example', aud: adminAudience };
  const active = { status: Status.ACTIVE, validFrom: BigInt(changedAt) };
  const authenticate = administratorAuthentication({
    introspection: {
      introspect: async () =>
        create(IntrospectResponseSchema, {
          ...token,
          active: true,
          kind: TokenKind.ACCESS_TOKEN,
          scope,
          iat: BigInt(changedAt + age),
        }),
    },
    directory: {
      getApplication: async () =>
        create(GetApplicationResponseSchema, {
          application: create(ApplicationSchema, {
            ...active,
            clientId,
            scopes: scope.split(' ').map((name) => ({ name, audience: adminAudience })),
            owners: [...owners],
          }),
          tenant: create(TenantSchema, { tenantId: 'ops', status: Status.ACTIVE }),
        }),
      getUser: async ({ userId = '' }) => {
        if (userId !== 'usr_root') throw new ConnectError('The user is not known.', Code.NotFound);
        const roles = ['tessera.administrator'];
        return create(GetUserResponseSchema, { user: create(UserSchema, { ...active, userId, roles }) });
      },
    },
    config: { TESSERA_OPERATOR_TENANT: 'ops', TESSERA_ISSUER: 'https://id.example' },
  });
  return (await authenticate('a token', rootCall('a-request', 1_000))).principal;
}

const refused = { code: 'invalid_token' };

it('a client and a person are told apart by who the token is for', async () => {
  expect(await believed('robot', 'robot')).toMatchObject({ kind: 'client', id: 'robot' });
  expect(await believed('console', 'usr_root')).toMatchObject({ kind: 'user', id: 'usr_root' });
});

it('a client whose ID looks like that of a person is no client, and nobody if there is no such person', async () => {
  await expect(believed('usr_robot', 'usr_robot')).rejects.toMatchObject(refused);
  expect(await believed('usr_root', 'usr_root')).toMatchObject({ kind: 'user' });
});

it('a token from before the last change of its application or person ends with it, even in the same second', async () => {
  await expect(believed('robot', 'robot', { age: -1 })).rejects.toMatchObject(refused);
  await expect(believed('console', 'usr_root', { age: -1 })).rejects.toMatchObject(refused);
});

it('a client writes the records of the owners of its application, and a person those of everybody', async () => {
  const ownersOf = async (...asked: Parameters<typeof believed>) => (await believed(...asked)).owners;
  expect(await ownersOf('robot', 'robot', { owners: ['orders', 'k8s:shop/*'] })).toEqual([
    'orders',
    'k8s:shop/*',
  ]);
  expect(await ownersOf('robot', 'robot')).toEqual(['api']);
  expect(await ownersOf('console', 'usr_root')).toEqual(['*']);
  expect(await ownersOf('console', 'usr_root', { owners: ['orders'] })).toEqual(['orders']);
});

it('a client without owners that holds everything in every tenant writes the records of everybody', async () => {
  const scope = [...adminScopes.keys()].join(' ');
  expect((await believed('robot', 'robot', { scope })).owners).toEqual(['*']);
  expect((await believed('robot', 'robot', { scope, owners: ['orders'] })).owners).toEqual(['orders']);
});
