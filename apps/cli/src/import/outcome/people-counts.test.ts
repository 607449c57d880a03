import { withheldPassword } from '@tessera/directory';
import { expect, it } from 'vitest';
import { countingPeople } from './people-counts.ts';

it('people with a passkey or something at a provider are ready without a password', () => {
  const people = countingPeople();
  const identities = [{ provider: 'corp', subject: 'ada' }];
  people.add([
    { username: 'ada', identities },
    { username: 'bob', passkeys: [{ credentialId: 'a' }], passwordHash: withheldPassword },
    { username: 'cleo', identities: [], passkeys: [] },
    { username: 'dan', identities, status: 'disabled' },
    { username: 'eve', password: 'correct horse' },
  ]);
  expect(people.counts()).toEqual({ total: 5, disabled: 1, withoutPassword: 1, ready: 3 });
});
