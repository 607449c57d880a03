import { createSecretKey } from 'node:crypto';
import { counting, testDatabase } from '@tessera/test-kit';
import { systemClock, systemRandom } from '@tessera/kit';
import { describe, expect, it } from 'vitest';
import { createChangeRecord } from '@tessera/directory/records';
import { call, startDirectory } from '../testing/start-directory.ts';
import { createRegistration, type RegistrationDeps } from '../registration/registration.ts';
import { migrations } from '@tessera/directory';
import { createEmailChanges, type EmailChangesDeps } from '../account/email-changes.ts';
import { createOutbox } from './outbox.ts';
import { claimMails } from './outbox.postgres.ts';
import { createMailCodes, type MailCodesDeps } from '../mail-code/mail-codes.ts';
import { createResetRequests, type ResetRequestsDeps } from '../links/reset-requests.ts';

const tries = 300;

/** What people ask for, without a worker that looks at it. */
async function world() {
  const database = counting(await testDatabase(migrations));
  const { api } = startDirectory(database);
  const tenantId = 'acme';
  const tenant = { tenantId, name: 'Acme', registration: 'open', signInMethods: ['mail-code'] };
  await api.tenants.create({ tenantId, tenant }, call());
  const user = { username: 'known', email: 'known@people.example', password: 'a long password' };
  await api.users.create({ tenantId, user }, call());
  const { userId } = await api.users.create({ tenantId, user: { username: 'eve' } }, call());
  const runtime = { clock: systemClock, random: systemRandom };
  const pepper = createSecretKey(Buffer.alloc(32, 1));
  const outbox = createOutbox({
    pepper,
    random: systemRandom,
    mailsPerHour: 1_000_000,
  });
  const changeRecord = createChangeRecord(database, runtime);
  const common = { database, pepper, outbox, changeRecord, runtime, delaySeconds: 60, ...runtime };
  const resets = createResetRequests(common as unknown as ResetRequestsDeps);
  const registration = createRegistration(common as unknown as RegistrationDeps);
  const emailChanges = createEmailChanges(common as unknown as EmailChangesDeps);
  const codes = createMailCodes(common as unknown as MailCodesDeps);
  const about = { tenantId, issuerTenantId: '', language: 'en', ipAddress: '192.0.2.1', requestId: 'r' };
  return {
    database,
    reset: async (name: string) => resets.keep({ ...about, identifier: `${name}@people.example` }),
    register: async (name: string) =>
      registration.keep({ ...about, email: `${name}@people.example`, interactionId: '' }),
    /** Somebody who says that the address is theirs. */
    propose: async (name: string) =>
      emailChanges.propose({ ...about, userId, authTime: 0n, email: `${name}@people.example` }),
    code: async (name: string) =>
      codes.request({ ...about, identifier: `${name}@people.example`, visit: name, languages: 'en' }),
    /** A wrong code, in the visit that asked for one. */
    guess: async (name: string) => codes.verify({ ...about, userId: '', visit: name, code: '00000000' }),
    /** Looks at what was asked for. */
    async answer() {
      await database.query({ name: 'test.hurry', text: 'UPDATE directory.mail SET due_at = now()' });
      const kinds = ['mail-code-request'];
      for (const mail of await claimMails(database, { limit: 10, leaseSeconds: 60, kinds }))
        await codes.answer(mail, await outbox.open(mail));
    },
  };
}

describe.each(['reset', 'register', 'propose', 'code'] as const)('a request to %s', (what) => {
  it('takes the same statements for known and unknown addresses', async () => {
    const of = await world();
    const statements = async (name: string) => {
      of.database.reset();
      await of[what](name);
      return [...of.database.names];
    };
    const known = await statements('known');
    expect(known).toContain('directory.put_mail');
    expect(await statements('nobod')).toEqual(known);
    const lookedUp = what === 'propose' ? 'identifier' : 'user';
    expect(known.filter((name) => name.includes(lookedUp))).toEqual([]);
  });

  it(`takes as long for known as for unknown addresses, however often both are tried`, async () => {
    const of = await world();
    const timed = async (name: string) => {
      const start = performance.now();
      await of[what](name);
      return performance.now() - start;
    };
    /** Whether one takes longer than chance alone lets it in one of two thousand runs. */
    const isApart = async (times: number) => {
      let longer = 0;
      for (let at = 0; at < times; at += 1) {
        // In turn, so that what else the machine does is the same for both.
        const first = at % 2 === 0 ? 'known' : 'nobod';
        const one = await timed(first);
        const other = await timed(first === 'known' ? 'nobod' : 'known');
        if (first === 'known' ? one > other : other > one) longer += 1;
      }
      return Math.abs(longer / times - 0.5) > 3.5 * (0.5 / Math.sqrt(times));
    };
    // A difference that there is shows again, and all the more in more tries; chance does not.
    expect((await isApart(tries)) && (await isApart(4 * tries))).toBe(false);
  });
});

describe('a wrong code', () => {
  it('takes the same statements, which write the same, for known and unknown people', async () => {
    const of = await world();
    for (const name of ['known', 'nobod']) await of.code(name);
    await of.answer();
    const tries = async (name: string) => {
      of.database.reset();
      expect(await of.guess(name)).toBeUndefined();
      return [...of.database.names];
    };
    const known = await tries('known');
    expect(known).toContain('directory.use_one_time_value');
    expect(await tries('nobod')).toEqual(known);
    for (let more = 0; more < 10; more += 1) for (const name of ['known', 'nobod']) await of.guess(name);
    const { rows } = await of.database.query({
      name: 'test.tries',
      text: 'SELECT tries FROM directory.one_time_value',
    });
    expect(rows).toEqual([{ tries: 5 }, { tries: 5 }]);
  });
});
