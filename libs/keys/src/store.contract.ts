import { systemRandom, uuid } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { beforeEach, describe, expect, it } from 'vitest';
import { signingAlgorithms, type SigningAlgorithmName } from '@tessera/oauth';
import type { KeyStore, NewKey, Origin } from './store.ts';

/** Seconds; that of every store in the contract. */
export const retention = 3600;
const bySystem: Origin = { actor: { type: 'system', id: 'keys' } };
const byOperator: Origin = { actor: { type: 'operator', id: 'operator' }, requestId: 'r1' };

function newKeyFor(algorithm: SigningAlgorithmName): NewKey {
  const text = () => systemRandom.bytes(32).toString('base64url');
  const names = signingAlgorithms[algorithm].publicMembers;
  const publicMembers = Object.fromEntries(names.map((name) => [name, text()]));
  return { kid: uuid(), algorithm, publicMembers, wrappedPrivateKey: `v1.test.${text()}` };
}

const tables = ['signing_key', 'tenant_signing_key', 'algorithm_signing_key'] as const;

function many<T>(count: number, work: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, work));
}

/**
 * What every key store must do, races included. `open` gives a store and its database, migrated; it is emptied before
 * each test.
 */
export function keyStoreContract(
  name: string,
  open: () => Promise<{ readonly store: KeyStore; readonly database: Database }>,
  table: (typeof tables)[number] = 'signing_key',
): void {
  const algorithm = table === 'algorithm_signing_key' ? 'ES256' : 'RS256';
  const newKey = () => newKeyFor(algorithm);

  describe(`the key store on ${name}`, () => {
    let store: KeyStore;
    let database: Database;

    beforeEach(async () => {
      ({ store, database } = await open());
      for (const each of tables) {
        await database.query({ name: `test.empty_${each}`, text: `DELETE FROM keys.${each}` });
      }
      await database.query({ name: 'test.empty_audit', text: 'DELETE FROM keys.audit_event' });
    });

    async function established(): Promise<NewKey> {
      const key = newKey();
      expect(await store.establish(key, bySystem)).toBe(true);
      return key;
    }

    /** Makes every key `seconds` older than it is. */
    async function age(seconds: number): Promise<void> {
      await database.query({
        name: `test.age_${table}`,
        text: `UPDATE keys.${table} SET published_at = published_at - make_interval(secs => $1::float8),
          activated_at = activated_at - make_interval(secs => $1::float8),
          retired_at = retired_at - make_interval(secs => $1::float8)`,
        values: [seconds],
      });
    }

    async function states(): Promise<Record<string, string>> {
      const keys = await store.load();
      return Object.fromEntries(keys.map((key) => [key.kid, key.state]));
    }

    /** Without order: rows of one commit may have the same time. */
    async function audited(): Promise<string[]> {
      const { rows } = await database.query<{ event: string; kid: string }>({
        name: 'test.audited',
        text: `SELECT event, record -> 'details' ->> 'kid' AS kid FROM keys.audit_event`,
      });
      return rows.map((row) => `${row.event} ${row.kid}`).sort();
    }

    it('is empty at first', async () => {
      expect(await store.load()).toEqual([]);
    });

    it('activates the very first key at once and loads it', async () => {
      const key = await established();
      const [stored, ...others] = await store.load();
      expect(others).toEqual([]);
      expect(stored).toMatchObject({ ...key, state: 'active' });
      expect(stored?.activeFor).toBeGreaterThanOrEqual(0);
      expect(stored?.activeFor).toBeLessThan(60);
      expect(await audited()).toEqual(
        ['key.activated', 'key.generated', 'key.published'].map((event) => `${event} ${key.kid}`),
      );
    });

    it('keeps exactly one of twenty concurrent first keys, and audits only that one', async () => {
      const outcomes = await many(20, () => store.establish(newKey(), bySystem));
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      expect(await store.load()).toHaveLength(1);
      expect(await audited()).toHaveLength(3);
    });

    it('publishes nothing without an active key or while it is too young', async () => {
      expect(await store.publish(newKey(), 0, bySystem)).toBe(false);
      const first = await established();
      await age(50);
      expect(await store.publish(newKey(), 100, bySystem)).toBe(false);
      expect(await states()).toEqual({ [first.kid]: 'active' });
    });

    it('publishes one next key, even with concurrent attempts', async () => {
      const first = await established();
      await age(100);
      const outcomes = await many(20, () => store.publish(newKey(), 100, bySystem));
      expect(outcomes.filter(Boolean)).toHaveLength(1);
      const keys = await store.load();
      expect(keys.map((key) => key.state)).toEqual(['published', 'active']);
      expect(keys[0]?.activeFor).toBeUndefined();
      expect(keys[1]?.kid).toBe(first.kid);
      expect(await audited()).toHaveLength(5);
    });

    it('activates the next key only after it was published long enough', async () => {
      const first = await established();
      const next = newKey();
      await store.publish(next, 0, bySystem);
      await age(50);
      expect(await store.activate(algorithm, 100, bySystem)).toBeUndefined();
      expect(await states()).toEqual({ [first.kid]: 'active', [next.kid]: 'published' });
    });

    it('activates once, even with concurrent attempts; the former key retires and loses its private part', async () => {
      const first = await established();
      const next = newKey();
      await store.publish(next, 0, bySystem);
      await age(100);
      const outcomes = await many(20, () => store.activate(algorithm, 100, byOperator));
      expect(outcomes.filter((outcome) => outcome !== undefined)).toEqual([
        { activated: next.kid, retired: first.kid },
      ]);
      const keys = await store.load();
      expect(keys.map((key) => [key.kid, key.state, key.wrappedPrivateKey])).toEqual([
        [next.kid, 'active', next.wrappedPrivateKey],
        [first.kid, 'retired', undefined],
      ]);
      const rows = await audited();
      expect(rows).toHaveLength(7);
      expect(rows).toEqual(expect.arrayContaining([`key.retired ${first.kid}`, `key.activated ${next.kid}`]));
    });

    it('withdraws a retired key once, and neither the active nor the next key', async () => {
      const first = await established();
      expect(await store.withdraw(first.kid, byOperator)).toBe('in_use');
      const next = newKey();
      await store.publish(next, 0, bySystem);
      expect(await store.withdraw(next.kid, byOperator)).toBe('in_use');
      await store.activate(algorithm, 0, bySystem);
      const outcomes = await many(20, () => store.withdraw(first.kid, byOperator));
      expect(outcomes.toSorted()).toEqual([...Array<string>(19).fill('unknown'), 'withdrawn']);
      expect(await states()).toEqual({ [next.kid]: 'active' });
      expect((await audited()).filter((row) => row.startsWith('key.deleted'))).toEqual([
        `key.deleted ${first.kid}`,
      ]);
    });

    it('keeps one active and at most one next key while publishing, activating and establishing race', async () => {
      await established();
      for (let round = 0; round < 10; round += 1) {
        await Promise.all([
          many(4, () => store.publish(newKey(), 0, bySystem)),
          many(4, () => store.activate(algorithm, 0, bySystem)),
          many(4, () => store.establish(newKey(), bySystem)),
        ]);
        const found = (await store.load()).map((key) => key.state);
        expect(found.filter((state) => state === 'active')).toHaveLength(1);
        expect(found.filter((state) => state === 'published').length).toBeLessThanOrEqual(1);
      }
    });

    it('keeps the rings of two algorithms apart', async () => {
      const other = algorithm === 'RS256' ? 'ES256' : 'RS256';
      const [first, beside] = [await established(), newKeyFor(other)];
      expect(await store.publish(beside, 0, bySystem)).toBe(false);
      expect(await store.establish(beside, bySystem)).toBe(true);
      const next = newKey();
      expect(await store.publish(next, 0, bySystem)).toBe(true);
      expect(await store.activate(other, 0, bySystem)).toBeUndefined();
      expect(await store.activate(algorithm, 0, bySystem)).toEqual({
        activated: next.kid,
        retired: first.kid,
      });
      expect(await states()).toEqual({
        [beside.kid]: 'active',
        [next.kid]: 'active',
        [first.kid]: 'retired',
      });
      expect(await store.withdraw(beside.kid, byOperator)).toBe('in_use');
      expect(await store.withdraw(first.kid, byOperator)).toBe('withdrawn');
      expect(await states()).toEqual({ [beside.kid]: 'active', [next.kid]: 'active' });
    });

    it('no longer loads a retired key after its retention, by the clock of the database', async () => {
      const first = await established();
      await store.publish(newKey(), 0, bySystem);
      await store.activate(algorithm, 0, bySystem);
      await age(retention - 10);
      expect(Object.keys(await states())).toContain(first.kid);
      await age(20);
      expect(Object.keys(await states())).not.toContain(first.kid);
    });

    it('writes who requested a change to the audit row', async () => {
      await established();
      await store.publish(newKey(), 0, byOperator);
      const { rows } = await database.query<{ event: string; outcome: string; record: object }>({
        name: 'test.audit_record',
        text: `SELECT event, outcome, record FROM keys.audit_event WHERE record ->> 'requestId' = 'r1' ORDER BY event`,
      });
      expect(rows).toMatchObject([
        { event: 'key.generated', outcome: 'success', record: byOperator },
        { event: 'key.published', outcome: 'success', record: byOperator },
      ]);
    });
  });
}
