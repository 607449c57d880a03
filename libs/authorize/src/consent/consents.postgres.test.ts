import { createHash } from 'node:crypto';
import { auditRow } from '@tessera/audit';
import { systemClock, systemRandom } from '@tessera/kit';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../wiring.ts';
import { createConsentStore, type ConsentStore } from './consents.postgres.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let consents: ConsentStore;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
  consents = createConsentStore(database);
});

const visitOf = (name: string) => createHash('sha256').update(name).digest();
const newKey = () => ({ tenantId: 'acme', userId: `ada-${(count += 1)}`, clientId: 'partner' });
type Key = ReturnType<typeof newKey>;
const audit = () =>
  auditRow(
    { event: 'consent.granted', outcome: 'success', requestId: '' },
    { clock: systemClock, random: systemRandom },
  );
const allow = async (key: Key, visit: string, scopes = ['openid'], countsSince = 0) =>
  consents.allow(key, { scopes, countsSince, visit: visitOf(visit) }, audit());
const scopesOf = async (key: Key) => (await consents.find(key))?.scopes.toSorted();

async function audited(): Promise<number> {
  const { rows } = await database.query<{ n: number }>({
    name: 'test.audited',
    text: 'SELECT count(*)::int AS n FROM authorize.audit_event',
  });
  return rows[0]?.n ?? 0;
}

describe('a consent', () => {
  it('is not there after a denial of the same visit, whichever came first, and the audit trail says so', async () => {
    const before = await audited();
    let kept = 0;
    for (let round = 0; round < 40; round += 1) {
      const key = newKey();
      if (round % 2 === 0) await allow(key, 'earlier');
      const forms = [allow(key, 'a'), consents.deny(key, visitOf('a')), allow(key, 'a')];
      const [first, , last] = await Promise.all(round % 3 === 0 ? forms : forms.toReversed());
      kept += [first, last].filter((each) => each === true).length + (round % 2 === 0 ? 1 : 0);
      expect(await consents.find(key)).toBeUndefined();
      expect(await allow(key, 'a')).toBe(false);
      expect(await consents.ofPerson(key)).toEqual([]);
      expect(await consents.revoke(key, audit())).toBe(false);
    }
    expect((await audited()) - before).toBe(kept);
  });

  it('may follow a denial in another visit', async () => {
    const key = newKey();
    await consents.deny(key, visitOf('a'));
    expect(await allow(key, 'b')).toBe(true);
    expect(await scopesOf(key)).toEqual(['openid']);
    expect(await allow(key, 'a')).toBe(false);
    expect(await consents.revoke(key, audit())).toBe(true);
    expect(await consents.find(key)).toBeUndefined();
  });

  it('has all that was allowed in several visits at once, and nothing from before it stopped to count', async () => {
    const key = newKey();
    const scopes = Array.from({ length: 20 }, (_, i) => `scope-${i}`);
    await Promise.all(scopes.map((scope) => allow(key, scope, ['openid', scope])));
    expect(await scopesOf(key)).toEqual(['openid', ...scopes].toSorted());
    await allow(key, 'later', ['email'], Date.now() / 1000 + 60);
    expect(await scopesOf(key)).toEqual(['email']);
  });
});
