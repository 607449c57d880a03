import { systemRandom } from '@tessera/kit';
import { fakeClock } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { VerifiedSecrets } from './verified-secrets.ts';

function setUp() {
  const clock = fakeClock();
  let watched = true;
  const secrets = new VerifiedSecrets({
    clock,
    random: systemRandom,
    watched: () => watched,
    unwatchedMs: 1_000,
  });
  const add = (clientId: string, secret: string, { tenantId = 'acme', expiresAt = 0 } = {}) => {
    const digest = secrets.digest(clientId, secret);
    secrets.add(clientId, { digest, tenantId, expiresAt });
    return digest;
  };
  return { clock, secrets, add, interrupt: () => (watched = false) };
}

it('A secret is trusted for an hour at most, and for a second while no changes arrive', () => {
  const { clock, secrets, add, interrupt } = setUp();
  const digest = add('service', 'secret');
  expect(secrets.has('service', digest)).toBe(true);
  clock.advance(1_000);
  interrupt();
  expect(secrets.has('service', digest)).toBe(true);
  clock.advance(1);
  expect(secrets.has('service', digest)).toBe(false);

  const watched = setUp();
  const other = watched.add('service', 'secret');
  watched.clock.advance(3_600_000);
  expect(watched.secrets.has('service', other)).toBe(true);
  watched.clock.advance(1);
  expect(watched.secrets.has('service', other)).toBe(false);
});

it('A secret that was verified later than now, by a clock that went back, is not trusted', () => {
  const { clock, secrets, add } = setUp();
  const digest = add('service', 'secret');
  clock.advance(-1);
  expect(secrets.has('service', digest)).toBe(false);
});

it('A secret is known to its own client, and the last two of a client are kept', () => {
  const { secrets, add } = setUp();
  const digests = ['first', 'second', 'third', 'third'].map((secret) => add('service', secret));
  expect(digests.map((digest) => secrets.has('service', digest))).toEqual([false, true, true, true]);
  expect(secrets.digest('other', 'third')).not.toBe(digests[3]);
  expect(secrets.has('other', digests[3] ?? '')).toBe(false);
});

it('The use of a secret is reported by one caller every five minutes, and of an unknown one by none', () => {
  const { clock, secrets, add } = setUp();
  const digest = add('service', 'secret');
  const reports = () => [1, 2].map(() => secrets.takeReport('service', digest));
  expect(reports()).toEqual([false, false]);
  clock.advance(299_999);
  expect(reports()).toEqual([false, false]);
  clock.advance(1);
  expect(reports()).toEqual([true, false]);
  expect(secrets.takeReport('service', 'unknown')).toBe(false);
});

it('The secrets of one tenant can be dropped', () => {
  const { secrets, add } = setUp();
  const [acme, globex] = [add('a', 'secret'), add('b', 'secret', { tenantId: 'globex' })];
  secrets.dropTenant('acme');
  expect([secrets.has('a', acme), secrets.has('b', globex)]).toEqual([false, true]);
});
