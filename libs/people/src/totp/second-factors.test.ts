import { createSecretKey } from 'node:crypto';
import { Code, ConnectError } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { URI, type TOTP } from 'otpauth';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { purgeDeleted } from '@tessera/directory/records';
import { newRecoveryCodes } from '../testing/enrol-app.ts';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';
import { forgetPeople } from '../account/forget-people.ts';
import { createTotpKeys } from './totp-keys.ts';
import { stepOfCode } from './totp.ts';

const refusal = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof ConnectError ? Code[error.code] : error;
};

factorsContract('postgres', async () => testDatabase(migrations));
if (runsEverything) factorsContract('pglite', async () => testEmbeddedDatabase(migrations));

/** What second factors do, on any engine. */
function factorsContract(engine: string, open: () => Promise<Database>): void {
  let database: Database;
  let count = 0;
  beforeAll(async () => {
    database = await open();
  });

  /** A person, and their app. */
  async function world() {
    const { api, as } = startDirectory(database);
    const tenantId = `${engine}${(count += 1)}`;
    await api.tenants.create({ tenantId, tenant: { name: 'Acme' } }, call());
    const { userId } = await api.users.create(
      { tenantId, user: { username: 'eve', password: 'a long password' } },
      call(),
    );
    const authorize = as('authorize');
    const person = { tenantId, userId };
    const propose = async (seed = 'a-seed') => {
      const { uri } = await authorize.proposeTotp({ ...person, seed }, call());
      return URI.parse(uri) as TOTP;
    };
    /** The code of `later` time steps from now. */
    const codeOf = (app: TOTP, later = 0) => app.generate({ timestamp: Date.now() + later * 30_000 });
    /** The first code, of an app that is not enrolled yet. */
    const check = async (code: string, seed = 'a-seed') =>
      (await authorize.verifyProposedTotp({ ...person, seed, code }, call())).timeStep;
    const adopt = async (seed = 'a-seed', timeStep?: bigint, by = authorize) => {
      const asked = { ...person, seed, ...(timeStep !== undefined && { timeStep }) };
      const { user, superseded } = await by.adoptProposal(asked, call());
      return superseded ? 'superseded' : user?.userId;
    };
    const enrol = async (code: string, seed = 'a-seed') => {
      const step = await check(code, seed);
      return step === undefined ? undefined : adopt(seed, step);
    };
    let made = 0;
    const verify = async (code: string, by = authorize) =>
      (await by.verifySecondFactor({ ...person, code }, call())).user;
    return {
      api,
      authorize,
      person,
      propose,
      codeOf,
      enrol,
      verify,
      /** Another process. */
      elsewhere: startDirectory(database).as('authorize'),
      recoveryCodes: async () => newRecoveryCodes(authorize, person, `codes-${(made += 1)}`),
      check,
      proposed: async (seed = 'a-seed') =>
        (await authorize.proposeRecoveryCodes({ ...person, seed }, call())).codes,
      adopt,
      events: async () => {
        const { rows } = await database.query<{ event: string; line: string }>({
          name: 'test.factor_events',
          text: `SELECT event, record::text AS line FROM directory.audit_event
                  WHERE tenant_id = $1 AND event LIKE 'auth.%' ORDER BY event_id`,
          values: [person.tenantId],
        });
        return rows;
      },
      factors: async () => (await authorize.getUser(person, call())).user?.secondFactors,
      /** The app of a person who has just set it up, with a code of one step ago. */
      async enrolled() {
        const app = await propose();
        expect(await enrol(codeOf(app, -1))).toBe(userId);
        return app;
      },
    };
  }

  describe(`an authenticator app, on ${engine}`, () => {
    it('is enrolled with its first code, shows tenant and person, and has 160 bits (RFC 4226 §4, RFC 6238 §4)', async () => {
      const { propose, enrol, codeOf, factors, verify } = await world();
      const app = await propose();
      expect(app).toMatchObject({ issuer: 'Acme', label: 'eve', algorithm: 'SHA1', digits: 6, period: 30 });
      expect(app.secret.bytes).toHaveLength(20);
      expect(await factors()).toEqual([]);
      expect(await enrol('000000')).toBeUndefined();
      expect(await enrol(codeOf(app), 'another-seed')).toBeUndefined();
      expect(await factors()).toEqual([]);
      expect(await enrol(codeOf(app, -1))).toBeDefined();
      expect(await factors()).toEqual(['totp']);
      expect(await verify(codeOf(app))).toBeDefined();
    });

    it('is one: another cannot be enrolled beside it', async () => {
      const { propose, enrol, enrolled, codeOf, verify } = await world();
      const app = await enrolled();
      const other = await propose('another-seed');
      expect(await enrol(codeOf(other), 'another-seed')).toBeUndefined();
      expect(await verify(codeOf(other))).toBeUndefined();
      expect(await verify(codeOf(app))).toBeDefined();
    });

    it('is accepted one time step early or late, and with a space, but each code once (RFC 6238 §5.2)', async () => {
      // No step may end between two of its codes.
      vi.useFakeTimers({ toFake: ['Date'] });
      onTestFinished(() => void vi.useRealTimers());
      const { enrolled, codeOf, verify } = await world();
      const app = await enrolled();
      expect(await verify(codeOf(app, 3))).toBeUndefined();
      expect(await verify(codeOf(app, -1))).toBeUndefined();
      const code = codeOf(app);
      expect(await verify(`${code.slice(0, 3)} ${code.slice(3)}`)).toBeDefined();
      expect(await verify(code)).toBeUndefined();
      expect(await verify(codeOf(app, 1))).toBeDefined();
      // The code of an earlier step is used up with that of a later one.
      expect(await verify(code)).toBeUndefined();
    });

    it('lets one of 20 racing sign-ins in two processes through with one code, however it is spelled (RFC 6238 §5.2, CVE-2025-6015)', async () => {
      const { authorize, elsewhere, enrolled, codeOf, verify } = await world();
      const code = codeOf(await enrolled());
      const spellings = [code, ` ${code}`, `${code.slice(0, 3)} ${code.slice(3)}`, `${code} `];
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, time) =>
          verify(spellings[time % 4] ?? code, time % 2 === 0 ? authorize : elsewhere),
        ),
      );
      expect(all.filter((user) => user !== undefined)).toHaveLength(1);
    });

    it("is nobody else's, and of no use to who is disabled", async () => {
      const { api, authorize, person, enrolled, codeOf, verify } = await world();
      const code = codeOf(await enrolled());
      const other = await world();
      await other.enrolled();
      expect(await other.verify(code)).toBeUndefined();
      const crossed = { tenantId: other.person.tenantId, userId: person.userId, code };
      expect((await authorize.verifySecondFactor(crossed, call())).user).toBeUndefined();
      await api.users.update(
        { tenantId: person.tenantId, user: { userId: person.userId, status: 'disabled' } },
        call(),
      );
      expect(await verify(code)).toBeUndefined();
      expect(await refusal(authorize.proposeTotp({ ...person, seed: 'a-seed' }, call()))).toBe('NotFound');
    });

    it('is stored encrypted, for one person and under one pepper', async () => {
      const { person, propose, enrolled } = await world();
      const { secret } = await propose();
      await enrolled();
      const { rows } = await database.query<{ sealed: string }>({
        name: 'test.sealed',
        text: 'SELECT sealed FROM directory.totp WHERE tenant_id = $1',
        values: [person.tenantId],
      });
      const sealed = rows[0]?.sealed ?? '';
      for (const form of [secret.base32, secret.hex, Buffer.from(secret.bytes).toString('base64url')])
        expect(sealed).not.toContain(form);
      const keys = createTotpKeys(createSecretKey(Buffer.alloc(32, 1)));
      const own = await keys.seal(person, Buffer.from('a secret'));
      expect((await keys.open(person, own)).toString()).toBe('a secret');
      const unavailable = { code: 'temporarily_unavailable' };
      await expect(keys.open({ ...person, userId: 'usr_other' }, own)).rejects.toMatchObject(unavailable);
      await expect(keys.open(person, sealed)).rejects.toMatchObject(unavailable);
    });
  });

  describe(`an authenticator app with its recovery codes, on ${engine}`, () => {
    it('is nothing until both are adopted in one commit: a right code stores nothing, and no code is valid', async () => {
      const { person, propose, codeOf, check, proposed, adopt, verify, factors, events } = await world();
      const app = await propose();
      const code = codeOf(app);
      expect(await check('000000')).toBeUndefined();
      expect(await check(codeOf(await propose('another-seed')))).toBeUndefined();
      const step = await check(code);
      expect(step).toBe(BigInt(Math.floor(Date.now() / 30_000)));
      expect(await check(`${code.slice(0, 3)} ${code.slice(3)}`)).toBe(step);
      const codes = await proposed();
      expect(codes).toHaveLength(10);
      expect(new Set(codes).size).toBe(10);
      expect(codes[0]).toMatch(/^[0-9a-z]{5}-[0-9a-z]{5}$/);
      expect(await proposed()).toEqual(codes);
      expect(await proposed('another-seed')).not.toEqual(codes);
      expect(await factors()).toEqual([]);
      expect(await verify(code)).toBeUndefined();
      expect(await verify(codes[0] ?? '')).toBeUndefined();
      expect(await events()).toEqual([]);
      expect(await adopt('a-seed', step)).toBe(person.userId);
      expect(await factors()).toEqual(['totp']);
      // The step of the first code is used up (RFC 6238 §5.2).
      expect(await verify(code)).toBeUndefined();
      expect(await verify(codeOf(app, 1))).toBeDefined();
      expect(await verify(codes[0] ?? '')).toBeDefined();
      expect((await events()).map(({ event }) => event)).toEqual([
        'auth.factor.added',
        'auth.recovery_codes.replaced',
        'auth.recovery_code.used',
      ]);
      expect(JSON.stringify(await events())).not.toContain(codes[0]);
    });

    it('is adopted once by 20 racing forms in two processes, and a code that was used meanwhile stays used', async () => {
      const { person, propose, codeOf, check, proposed, adopt, verify, events, authorize, elsewhere } =
        await world();
      const app = await propose();
      const step = await check(codeOf(app, -1));
      const [first = '', second = ''] = await proposed();
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, time) =>
          adopt('a-seed', step, time % 2 === 0 ? authorize : elsewhere),
        ),
      );
      expect(new Set(answers)).toEqual(new Set([person.userId]));
      expect((await events()).map(({ event }) => event)).toEqual([
        'auth.factor.added',
        'auth.recovery_codes.replaced',
      ]);
      expect(await verify(first)).toBeDefined();
      expect(await adopt('a-seed', step)).toBe(person.userId);
      expect(await verify(first)).toBeUndefined();
      expect(await verify(second)).toBeDefined();
      expect(await verify(codeOf(app))).toBeDefined();
    });

    it('is one of those of 20 racing windows, each with an app and codes of its own, and the others are told', async () => {
      const { person, propose, codeOf, check, proposed, adopt, verify, authorize, elsewhere } = await world();
      const seeds = Array.from({ length: 20 }, (_, time) => `seed-${time}`);
      const steps = await Promise.all(
        seeds.map(async (seed) => check(codeOf(await propose(seed), -1), seed)),
      );
      const answers = await Promise.all(
        seeds.map((seed, time) => adopt(seed, steps[time], time % 2 === 0 ? authorize : elsewhere)),
      );
      const winners = seeds.filter((_, time) => answers[time] === person.userId);
      expect(winners).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'superseded')).toHaveLength(19);
      for (const seed of seeds) {
        const [code = ''] = await proposed(seed);
        expect((await verify(code)) !== undefined).toBe(seed === winners[0]);
      }
      const loser = seeds.find((seed) => seed !== winners[0]) ?? '';
      expect(await check(codeOf(await propose(loser)), loser)).toBeUndefined();
      expect(await adopt(loser, steps[0])).toBe('superseded');
      expect(await verify(codeOf(await propose(winners[0])))).toBeDefined();
    });

    it('stores nothing at all if the second half fails', async () => {
      const { propose, codeOf, check, adopt, factors } = await world();
      const step = await check(codeOf(await propose()));
      const put = 'directory.put_recovery_codes';
      const transaction = vi.spyOn(database, 'transaction').mockImplementationOnce((work) =>
        database.transaction((tx) =>
          work({
            ...tx,
            query: (statement) => {
              if (statement.name === put) throw new Error('the connection was lost');
              return tx.query(statement);
            },
          }),
        ),
      );
      onTestFinished(() => transaction.mockRestore());
      await expect(adopt('a-seed', step)).rejects.toThrow();
      expect(await factors()).toEqual([]);
      expect(await adopt('a-seed', step)).toBeDefined();
      expect(await factors()).toEqual(['totp']);
    });
  });

  describe(`new recovery codes, on ${engine}`, () => {
    it('take the place of the earlier ones once they are adopted, and none without a second factor', async () => {
      const { person, enrolled, recoveryCodes, proposed, adopt, verify, events } = await world();
      expect(await adopt('codes')).toBeUndefined();
      await enrolled();
      const [earlier = '', other = ''] = await recoveryCodes();
      const [first = '', second = ''] = await proposed('codes');
      expect(await verify(first)).toBeUndefined();
      expect(await verify(earlier)).toBeDefined();
      expect(await adopt('codes')).toBe(person.userId);
      expect(await verify(other)).toBeUndefined();
      expect(await verify(first)).toBeDefined();
      // Sent again, as when its answer was lost.
      expect(await adopt('codes')).toBe(person.userId);
      expect(await verify(first)).toBeUndefined();
      expect(await adopt('later')).toBe(person.userId);
      expect(await adopt('codes')).toBe('superseded');
      expect(await verify(second)).toBeUndefined();
      expect(await verify((await proposed('later'))[0] ?? '')).toBeDefined();
      const made = (await events()).filter(({ event }) => event === 'auth.recovery_codes.replaced');
      // One with the app, one before these two.
      expect(made).toHaveLength(4);
    });

    it('are one set, of the last of 20 racing windows, each of which is told the truth', async () => {
      const { person, enrolled, proposed, adopt, verify, authorize, elsewhere } = await world();
      await enrolled();
      const seeds = Array.from({ length: 20 }, (_, time) => `seed-${time}`);
      await Promise.all(
        seeds.map((seed, time) => adopt(seed, undefined, time % 2 === 0 ? authorize : elsewhere)),
      );
      const valid: string[] = [];
      for (const seed of seeds)
        if ((await verify((await proposed(seed))[0] ?? '')) !== undefined) valid.push(seed);
      expect(valid).toHaveLength(1);
      for (const seed of seeds)
        expect(await adopt(seed)).toBe(seed === valid[0] ? person.userId : 'superseded');
    });

    it("are nobody else's, and of no use to who is disabled", async () => {
      const { api, authorize, person, enrolled, proposed, adopt } = await world();
      await enrolled();
      const other = await world();
      expect(await other.proposed()).not.toEqual(await proposed());
      await api.users.update(
        { tenantId: person.tenantId, user: { userId: person.userId, status: 'disabled' } },
        call(),
      );
      expect(await adopt('codes')).toBeUndefined();
      expect(await refusal(authorize.proposeRecoveryCodes({ ...person, seed: 'codes' }, call()))).toBe(
        'NotFound',
      );
    });
  });

  describe(`a recovery code, on ${engine}`, () => {
    it('takes the place of the app once, in any case and without the dash; new ones replace all', async () => {
      const { authorize, elsewhere, enrolled, recoveryCodes, verify } = await world();
      expect(await recoveryCodes()).toEqual([]);
      await enrolled();
      const [first = '', second = '', third = ''] = await recoveryCodes();
      expect(first).toMatch(/^[0-9a-z]{5}-[0-9a-z]{5}$/);
      expect(await verify(first.toUpperCase().replace('-', ' '))).toBeDefined();
      expect(await verify(first)).toBeUndefined();
      const all = await Promise.all(
        Array.from({ length: 20 }, (_, time) => verify(second, time % 2 === 0 ? authorize : elsewhere)),
      );
      expect(all.filter((user) => user !== undefined)).toHaveLength(1);
      expect(await recoveryCodes()).toHaveLength(10);
      expect(await verify(third)).toBeUndefined();
    });

    it('is itself nowhere in the database, and its use has an audit row', async () => {
      const { enrolled, recoveryCodes, verify, events } = await world();
      await enrolled();
      const [code = ''] = await recoveryCodes();
      await verify(code);
      const rows = await events();
      expect(rows.map(({ event }) => event)).toEqual([
        'auth.factor.added',
        'auth.recovery_codes.replaced',
        'auth.recovery_codes.replaced',
        'auth.recovery_code.used',
      ]);
      expect(JSON.stringify(rows)).not.toContain(code);
    });
  });

  describe(`resetting second factors, on ${engine}`, () => {
    it('removes app and codes, and ends what was issued before', async () => {
      const { api, authorize, person, enrolled, codeOf, recoveryCodes, verify, factors } = await world();
      const before = (await authorize.getUser(person, call())).user?.validFrom;
      expect((await api.users.resetSecondFactors(person, call())).removed).toEqual([]);
      expect((await authorize.getUser(person, call())).user?.validFrom).toBe(before);
      const app = await enrolled();
      const [code = ''] = await recoveryCodes();
      await api.users.resetSecondFactors({ ...person, validateOnly: true }, call());
      expect(await factors()).toEqual(['totp']);
      const signedIn = Math.floor(Date.now() / 1000);
      expect((await api.users.resetSecondFactors(person, call())).removed).toEqual(['totp']);
      expect(await factors()).toEqual([]);
      expect(Number((await authorize.getUser(person, call())).user?.validFrom)).toBeGreaterThan(signedIn);
      expect(await verify(codeOf(app))).toBeUndefined();
      expect(await verify(code)).toBeUndefined();
      expect(await refusal(api.users.resetSecondFactors({ ...person, userId: 'usr_none' }, call()))).toBe(
        'NotFound',
      );
    });

    it('does not come with a deletion: who is brought back has the app, who is gone for good leaves nothing', async () => {
      const { api, person, enrolled, codeOf, verify } = await world();
      const app = await enrolled();
      await api.users.delete(person, call());
      await purgeDeleted(database, 1000, forgetPeople);
      await api.users.undelete(person, call());
      expect(await verify(codeOf(app))).toBeDefined();
      await api.users.delete(person, call());
      await database.query({
        name: 'test.age',
        text: `UPDATE directory.deleted_record SET deleted_at = deleted_at - interval '31 days' WHERE tenant_id = $1`,
        values: [person.tenantId],
      });
      await purgeDeleted(database, 1000, forgetPeople);
      const { rows } = await database.query({
        name: 'test.left',
        text: 'SELECT FROM directory.totp WHERE tenant_id = $1',
        values: [person.tenantId],
      });
      expect(rows).toEqual([]);
    });
  });
}

it('agrees with the test vectors of RFC 6238, appendix B', () => {
  const secret = Buffer.from('12345678901234567890');
  const vectors = [
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_234_567_890, '005924'],
    [20_000_000_000, '353130'],
  ] as const;
  for (const [seconds, code] of vectors)
    expect(stepOfCode(secret, code, seconds * 1000)).toBe(Math.floor(seconds / 30));
  expect(stepOfCode(secret, '287083', 59_000)).toBeUndefined();
});
