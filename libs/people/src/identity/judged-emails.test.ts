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

const owned = [{ ...corp, domains: ['company.example'] }, partner];

/** A tenant with people of a provider that may say so of every address. */
async function world() {
  const providers = twoProviders(database);
  const { files, tenantId, declare, signIn, record } = providers;
  await declare([partner]);
  const made = async (email: string) => (await signIn(partner, encodeURI(email), email)).user?.userId ?? '';
  return {
    ...providers,
    made,
    verified: async (userId: string) => (await record(userId)).emailVerified,
    async impact(declared: readonly object[]) {
      const document = JSON.stringify({ tenants: [{ id: tenantId, name: 'Acme', providers: declared }] });
      const { tenants } = await files.diff({ document, fileName: 'state.yaml', impact: true }, call());
      const { noLongerVerified, verifiedAgain } = tenants[0]?.impact ?? {};
      return { noLongerVerified, verifiedAgain };
    },
    /** Who was changed since the last look, and how. */
    async audited() {
      const { rows } = await database.query<{ subject: string; details: object; actor: object }>({
        name: 'test.take_updates',
        text: `WITH taken AS (
                 DELETE FROM directory.audit_event WHERE tenant_id = $1 AND event = 'user.updated' RETURNING record)
               SELECT record ->> 'subject' AS subject, record -> 'details' AS details, record -> 'actor' AS actor FROM taken`,
        values: [tenantId],
      });
      return rows.map(({ subject, details, actor }) => ({ subject, details, actor }));
    },
  };
}

const by = (subjects: readonly string[]) =>
  subjects.map((subject) => ({
    subject,
    details: { changed: 'emailVerified', owner: 'api' },
    actor: expect.objectContaining({ type: 'operator' }) as object,
  }));

describe('people whose addresses are judged again by a change of providers', () => {
  it('are counted beforehand, and each has a row in the audit trail', async () => {
    const { declare, made, impact, audited, verified } = await world();
    const judged = [await made('cfo@company.example'), await made('cto@company.example')];
    await made('eve@partner.example');
    await audited();
    expect(await impact(owned)).toEqual({ noLongerVerified: 2, verifiedAgain: 0 });
    await declare(owned);
    expect(await audited()).toEqual(expect.arrayContaining(by(judged)));
    for (const userId of judged) expect(await verified(userId)).toBeUndefined();
    expect(await impact([corp])).toEqual({ noLongerVerified: 0, verifiedAgain: 2 });
    await declare([corp]);
    const again = await audited();
    expect(again).toHaveLength(2);
    expect(again).toEqual(expect.arrayContaining(by(judged)));
    await declare([{ ...corp, displayName: 'The company' }]);
    expect(await audited()).toEqual([]);
  });

  it('are not those whom a file declares or deletes', async () => {
    const { declare, made, impact, audited } = await world();
    const declared = { username: 'cfo@company.example', email: 'cfo@company.example', emailVerified: true };
    const userId = await made(declared.email);
    await declare([partner], [declared]);
    await audited();
    await declare(owned, [{ ...declared, name: 'Carla' }]);
    expect(await audited()).toEqual([
      expect.objectContaining({ subject: userId, details: { changed: 'name' } }),
    ]);
    await declare([partner], []);
    expect(await audited()).toEqual([]);
    expect(await impact(owned)).toEqual({ noLongerVerified: 0, verifiedAgain: 0 });
  });

  it('are those, too, who lose what a mapping of their provider gave them', async () => {
    const { declare, made, audited, record, update } = await world();
    await declare([{ ...partner, attributeMappings: { team: 'team' } }]);
    const userId = await made('cfo@company.example');
    await update({ userId, attributes: { team: 'engines' } }, 'attributes');
    await audited();
    await declare([{ ...corp, domains: ['company.example'] }]);
    const { attributes, email, emailVerified } = await record(userId);
    expect([attributes, email, emailVerified]).toEqual([undefined, 'cfo@company.example', undefined]);
    const changed = (await audited()).map(({ details }) => details);
    expect(changed).toHaveLength(2);
    expect(changed).toEqual(
      expect.arrayContaining(
        ['attributes', 'emailVerified'].map((field) => ({ changed: field, owner: 'api' })),
      ),
    );
  });

  it.each(['ÄRLA@company.example', 'a\u0308rla@company.example'])(
    'are found by addresses in the form in which identifiers are stored: %j',
    async (email) => {
      const { declare, made, verified } = await world();
      const userId = await made(email);
      await declare(owned);
      expect(await verified(userId)).toBeUndefined();
      await declare([corp]);
      expect(await verified(userId)).toBe(true);
    },
  );

  it('are not judged by the proof of an address that they had before', async () => {
    const { declare, made, tenantId, verified } = await world();
    const userId = await made('cfo@company.example');
    await database.query({
      name: 'test.former_version_moves',
      text: `UPDATE directory.user_account SET email = 'elsewhere@company.example' WHERE tenant_id = $1 AND user_id = $2`,
      values: [tenantId, userId],
    });
    await declare(owned);
    expect(await verified(userId)).toBe(true);
  });
});
