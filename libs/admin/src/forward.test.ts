import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { temporarilyUnavailable, type OAuthError } from '@tessera/oauth';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { Code, type CallContext, type Client } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { forwarding } from './forward.ts';

const context = {
  caller: 'operator',
  principal: { kind: 'certificate', id: 'ops' },
  onward: () => ({}),
} as unknown as CallContext;

/** What a change and a read answer if the owner of the records fails like this. */
async function answers(failure: OAuthError): Promise<string[]> {
  const fail = async () => Promise.reject(failure);
  const owner = Object.fromEntries(UsersService.methods.map(({ localName }) => [localName, fail]));
  const { handlers } = forwarding(UsersService, owner as unknown as Client<typeof UsersService>, {
    bearer: fail,
    attributesInClaims: fail,
    assignablesOf: fail,
    issuerOf: fail,
  });
  const ask = async (name: string): Promise<string> => {
    const handler = handlers[name] as (request: object, call: CallContext) => Promise<unknown>;
    try {
      await handler({}, context);
      return 'done';
    } catch (refused) {
      return (refused as Error).message;
    }
  };
  return [await ask('delete'), await ask('get')];
}

const notDone = 'The service is temporarily unavailable. Try again.';

it('a change that its owner refused was not made, and the answer says no other', async () => {
  const { code, message } = temporarilyUnavailable();
  expect([code, message]).toEqual(['temporarily_unavailable', notDone]);
  expect(await answers(temporarilyUnavailable())).toEqual([notDone, notDone]);
});

it('a change that its owner did not answer may have been made, and the answer says so', async () => {
  expect(await answers(temporarilyUnavailable(new Error('deadline exceeded')))).toEqual([
    'The service is temporarily unavailable. It is not known whether this was done.',
    notDone,
  ]);
});

it('what is for no single tenant is refused to the administrator of one, by what was asked', async () => {
  const unused = async () => Promise.reject(new Error('asked'));
  const owner = Object.fromEntries(TenantsService.methods.map(({ localName }) => [localName, unused]));
  const { handlers } = forwarding(TenantsService, owner as unknown as Client<typeof TenantsService>, {
    bearer: unused,
    attributesInClaims: unused,
    assignablesOf: unused,
    issuerOf: unused,
  });
  const principal = { kind: 'user', id: 'usr_gus', tenantId: 'globex' };
  const list = handlers['list'] as (request: object, call: CallContext) => Promise<unknown>;
  await expect(list({}, { ...context, principal } as CallContext)).rejects.toMatchObject({
    code: Code.PermissionDenied,
    rawMessage:
      'Listing organizations is for operators: use an access token of the operator tenant (TESSERA_OPERATOR_TENANT).',
  });
});
