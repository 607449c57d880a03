import type { UsersService } from '@tessera/proto-gen/admin-users';
import { Code, ConnectError, type Client } from '@tessera/rpc';
import { expect, it } from 'vitest';
import { tellingWhatEnded } from './telling-what-ended.ts';

interface Asked {
  readonly validateOnly?: boolean;
  readonly impact?: boolean;
}

/** People of whom each answer says what it was asked, one of them perhaps in vain. */
function people(fails: (request: Asked) => boolean = () => false) {
  const sent: Asked[] = [];
  const lockDown = async (request: Asked) => {
    sent.push(request);
    if (fails(request)) throw new ConnectError('not now', Code.Unavailable);
    const { validateOnly = false, impact = false } = request;
    const counted = { sessions: { total: validateOnly ? 3 : 0 } };
    return { removed: ['password'], ...(impact && { impact: counted }) };
  };
  const users = tellingWhatEnded({ lockDown } as unknown as Client<typeof UsersService>);
  return { users, sent };
}

const person = { tenantId: 'acme', userId: 'usr_ada' };

it('a lockdown tells what there was before it, and is carried out once', async () => {
  const { users, sent } = people();
  const answer = await users.lockDown({ ...person, impact: true });
  expect(answer).toEqual({ removed: ['password'], impact: { sessions: { total: 3 } } });
  expect(sent).toEqual([
    { ...person, validateOnly: true, impact: true },
    { ...person, impact: false },
  ]);
});

it.each([{ ...person }, { ...person, validateOnly: true }, { ...person, validateOnly: true, impact: true }])(
  'a lockdown that is only validated, or not to be counted, is asked for as it is: %o',
  async (request) => {
    const { users, sent } = people();
    await users.lockDown(request);
    expect(sent).toEqual([request]);
  },
);

it('a lockdown is carried out although nobody can count what it ends', async () => {
  const { users, sent } = people(({ validateOnly }) => validateOnly === true);
  expect(await users.lockDown({ ...person, impact: true })).toEqual({ removed: ['password'] });
  expect(sent.at(-1)).toEqual({ ...person, impact: false });
});

it('a lockdown that is refused says so', async () => {
  const { users } = people(() => true);
  await expect(users.lockDown({ ...person, impact: true })).rejects.toMatchObject({ code: Code.Unavailable });
});
