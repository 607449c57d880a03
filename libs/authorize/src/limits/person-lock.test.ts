import { create } from '@bufbuild/protobuf';
import { GetUserResponseSchema } from '@tessera/proto-gen/directory';
import { fakeClock } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { countersOfCodes, countersOfPassword } from './guess-counters.ts';
import { createLockOf } from './person-lock.ts';

const rule = (name: string) => ({ name, limit: 4, windowSeconds: 60 });
const limits = {
  account: rule('account'),
  person: rule('person'),
  codes: [rule('codes'), { ...rule('codes of a day'), windowSeconds: 86_400 }],
};
const found = create(GetUserResponseSchema, {
  user: {
    tenantId: 'acme',
    userId: 'usr_1',
    username: 'ada',
    email: 'ada@acme.example',
    phoneNumber: '+4670',
  },
});

it('a lock by the person, by any name that they sign in with, or by their codes is told, the longest one', async () => {
  const clock = fakeClock(1_000_000);
  const used = new Map<string, number>();
  const lockOf = createLockOf({
    clock,
    limits,
    directoryService: { getUser: async () => Promise.resolve(found) },
    limiter: { used: async ({ name }, key) => Promise.resolve(used.get(`${name} ${key}`) ?? 0) },
  });
  const ask = async () => lockOf({ tenantId: 'acme', userId: 'usr_1' }, {});
  if (found.user === undefined) throw new Error('there is no user');
  const { person, accounts } = countersOfPassword(found.user);
  const codes = countersOfCodes(found.user);
  const counters = [
    `person ${person}`,
    ...accounts.map((account) => `account ${account}`),
    `person ${codes.person}`,
    `account ${codes.account}`,
    `codes ${codes.account}`,
  ];
  expect(new Set(counters).size).toBe(7);
  expect(await ask()).toBe(0);
  for (const counter of counters) {
    used.clear();
    used.set(counter, 500);
    expect(await ask()).toBe(clock.now() + 500);
  }
  used.clear();
  // An unlock would not end it.
  used.set(`codes of a day ${codes.account}`, 900);
  expect(await ask()).toBe(0);
  used.set(counters[0] ?? '', 700);
  expect(await ask()).toBe(clock.now() + 700);
});
