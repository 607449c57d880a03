import { createHash } from 'node:crypto';
import { auditRow } from '@tessera/audit';
import { systemClock, systemRandom } from '@tessera/kit';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrations } from '../wiring.ts';
import {
  createConsentStore,
  firstConsent,
  type Allowed,
  type ConsentKey,
  type ConsentScope,
  type ConsentStore,
} from './consents.postgres.ts';

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
const always = { consent: 0, signIn: 0 };
const allow = async (key: Key, visit: string, scopes = ['openid'], rest: Partial<Allowed> = {}) =>
  consents.allow(
    key,
    { scopes, signedInAt: undefined, countsSince: always, visit: visitOf(visit), ...rest },
    audit(),
  );
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
      const ofPerson = { tenantId: key.tenantId, userIds: [key.userId] };
      expect(await consents.list(ofPerson, firstConsent, 10)).toEqual([]);
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
    await allow(key, 'later', ['email'], { countsSince: { consent: Date.now() / 1000 + 60, signIn: 0 } });
    expect(await scopesOf(key)).toEqual(['email']);
  });

  it('has nothing of an earlier one whose sign-in stopped to count, however late it was given', async () => {
    const key = newKey();
    const [before, after] = [1_800_000_000, 1_800_000_001.5];
    await allow(key, 'of a thief', ['orders.write'], { signedInAt: before });
    expect(await consents.find(key)).toMatchObject({ signedInAt: before });
    const countsSince = { consent: 0, signIn: after };
    await allow(key, 'of the person', ['openid'], { signedInAt: after, countsSince });
    expect(await consents.find(key)).toMatchObject({ scopes: ['openid'], signedInAt: after });
    await allow(key, 'again', ['email'], { signedInAt: after, countsSince });
    expect(await scopesOf(key)).toEqual(['email', 'openid']);
  });

  it('of an earlier version counts as one of a sign-in at that moment', async () => {
    const key = newKey();
    await allow(key, 'a');
    await database.query({
      name: 'test.of_earlier_version',
      text: 'UPDATE authorize.consent SET signed_in_at = NULL WHERE user_id = $1',
      values: [key.userId],
    });
    const { grantedAt, signedInAt } = (await consents.find(key)) ?? {};
    expect(signedInAt).toBe(grantedAt);
    await allow(key, 'b', ['email'], { countsSince: { consent: 0, signIn: Number(grantedAt) - 1 } });
    expect(await scopesOf(key)).toEqual(['email', 'openid']);
  });
});

describe('the list of consents', () => {
  it('pages through those of a tenant, of people or for an application, without denials, in order', async () => {
    const tenantId = `listed-${(count += 1)}`;
    const key = (userId: string, clientId: string) => ({ tenantId, userId, clientId });
    const given = [key('ada', 'a'), key('ada', 'b'), key('bob', 'a'), key('cleo', 'b')];
    for (const each of given.toReversed()) await allow(each, 'a');
    await consents.deny(key('bob', 'b'), visitOf('a'));
    await allow({ ...key('ada', 'a'), tenantId: `another-${tenantId}` }, 'a');

    const listed = async (scope: ConsentScope, size: number) => {
      const found: ConsentKey[] = [];
      for (let after = firstConsent; ;) {
        const page = await consents.list(scope, after, size);
        found.push(...page.map(({ userId, clientId }) => key(userId, clientId)));
        const last = page.at(-1);
        if (last === undefined) return found;
        after = last;
      }
    };
    for (const size of [1, 2, 10]) {
      expect(await listed({ tenantId }, size)).toEqual(given);
      expect(await listed({ tenantId, userIds: ['ada', 'cleo', 'eve'] }, size)).toEqual(
        given.filter(({ userId }) => userId !== 'bob'),
      );
      expect(await listed({ tenantId, clientId: 'a' }, size)).toEqual([given[0], given[2]]);
    }
    expect(await listed({ tenantId, clientId: 'c' }, 10)).toEqual([]);
  });
});
