import { temporarilyUnavailable, type OAuthError } from '@tessera/oauth';
import { UsersService } from '@tessera/proto-gen/admin-users';
import type { CallContext, Client } from '@tessera/rpc';
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
