import { migrations } from '@tessera/directory';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call } from '../testing/start-directory.ts';
import { corp, partner, twoProviders } from '../testing/two-providers.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

const mapping = { ...corp, attributeMappings: { team: 'team' } };
const said = { claims: { team: 'engines' }, knownClaims: ['team'] };
const email = 'ada@company.example';

/** Runs a statement, and commits it when the returned function is called. */
async function holding(name: string, text: string, ...values: unknown[]): Promise<() => Promise<void>> {
  const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const transaction = database.transaction(async (tx) => {
    await tx.query({ name: `test.${name}`, text, values });
    held.resolve();
    await release.promise;
  });
  await Promise.race([held.promise, transaction]);
  return async () => {
    release.resolve();
    await transaction;
  };
}

/** Keeps changes from being committed: each appends to the feed last. */
const holdCommits = async () =>
  holding('hold_feed', `SELECT pg_advisory_xact_lock(hashtextextended('tessera.directory.feed', 0))`);

/** Resolves as soon as that many sessions wait for a lock. */
async function waiters(expected: number): Promise<void> {
  await expect
    .poll(async () => {
      const { rows } = await database.query<{ waiting: number }>({
        name: 'test.waiting',
        text: `SELECT count(*)::integer AS waiting FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      });
      return rows[0]?.waiting;
    })
    .toBe(expected);
}

/** What the tenant has of people who come with providers: accounts, identities and proofs. */
async function kept(tenantId: string) {
  const { rows } = await database.query<{ people: string[]; identities: string[]; proofs: number }>({
    name: 'test.kept',
    text: `SELECT ARRAY(SELECT user_id FROM directory.user_account WHERE tenant_id = $1 ORDER BY 1) AS people,
                  ARRAY(SELECT user_id FROM directory.provider_identity WHERE tenant_id = $1 ORDER BY 1) AS identities,
                  (SELECT count(*)::integer FROM directory.email_proof WHERE tenant_id = $1) AS proofs`,
    values: [tenantId],
  });
  return rows[0];
}

describe('a sign-in with a provider that is removed in the same moment', () => {
  it.each([
    ['is removed', []],
    ['gets another issuer', [{ ...corp, issuer: 'https://login.bought.example' }]],
  ])('is refused if it waited, by whichever way, and leaves nothing: the provider %s', async (_, after) => {
    for (const mapped of [undefined, said]) {
      const { declare, signIn, tenantId } = twoProviders(database);
      await declare([mapping]);
      const known = (await signIn(corp, 'ada', email)).user?.userId;
      const before = await kept(tenantId);
      const release = await holdCommits();
      const removing = declare(after);
      await waiters(1);
      const ofKnown = signIn(corp, 'ada', email, mapped);
      const ofOther = signIn(corp, 'eve', 'eve@company.example', mapped);
      await waiters(3);
      await release();
      await removing;
      expect(await ofKnown).toMatchObject({ refusal: 'inactive', signedInAtMs: 0n });
      expect(await ofOther).toMatchObject({ refusal: 'provider', signedInAtMs: 0n });
      expect(await kept(tenantId)).toEqual(before);
      expect(before?.people).toEqual([known]);
    }
  });

  it('is refused if it waited for the row of the provider alone, and leaves nothing', async () => {
    for (const mapped of [undefined, said, undefined, said]) {
      const { declare, signIn, tenantId } = twoProviders(database);
      await declare([mapping]);
      await signIn(corp, 'ada', email);
      const before = await kept(tenantId);
      const removed = 'DELETE FROM directory.provider WHERE tenant_id = $1';
      const commit = await holding('remove_provider', removed, tenantId);
      const ofKnown = signIn(corp, 'ada', email, mapped);
      const ofOther = signIn(corp, 'eve', 'eve@company.example', mapped);
      await waiters(2);
      await commit();
      expect(await ofKnown).toMatchObject({ refusal: 'inactive', signedInAtMs: 0n });
      expect(await ofOther).toMatchObject({ refusal: 'provider', signedInAtMs: 0n });
      expect(await kept(tenantId)).toEqual(before);
    }
  });

  it('is an ordinary refusal, or ends with the provider, whichever comes first', async () => {
    const { declare, signIn, authorize, tenantId } = twoProviders(database);
    for (let round = 0; round < 12; round += 1) {
      await declare([mapping, partner]);
      const subjects = [0, 1, 2].map((at) => `${round}-${at}`);
      const [first = ''] = subjects;
      await signIn(corp, first, `${first}@company.example`);
      const [, ...answers] = await Promise.all([
        declare([partner]),
        ...[...subjects, ...subjects].map(async (subject, at) => {
          await new Promise((done) => setTimeout(done, (at % 3) * round));
          return signIn(corp, subject, `${subject}@company.example`, at % 2 === 0 ? said : undefined);
        }),
      ]);
      for (const { user, refusal, signedInAtMs } of answers) {
        if (user === undefined) {
          expect(['inactive', 'provider']).toContain(refusal);
          continue;
        }
        const { user: now } = await authorize.getUser({ tenantId, userId: user.userId }, call());
        expect(Number(signedInAtMs)).toBeLessThan(Number(now?.validFrom) * 1000);
      }
      const { people, identities, proofs } = (await kept(tenantId)) ?? {};
      expect([identities, proofs]).toEqual([people, people?.length]);
    }
  });
});
