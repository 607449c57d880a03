import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { local, onBehalfOf } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call as rootCall, codeOf, world, type World } from '../testing/world.ts';

let on: World;
beforeAll(async () => {
  on = await world();
});
afterAll(() => on.close());

const admin = { type: 'user', tenantId: 'ops', id: 'usr_root' } as const;
const call = () => onBehalfOf(rootCall(), admin);
const api = () => local(GrantsService, on.service, 'admin', silentLog());
/** A refresh token, and its person, who has no other. */
async function granted() {
  const { refreshToken, accessToken } = await on.signIn();
  const { sub: userId } = await on.introspect(accessToken);
  return { refreshToken, userId };
}
const works = async (refreshToken: string) => (await on.introspect(refreshToken)).active;

describe('administrators', () => {
  it('see the live grants of a person or an application, page by page', async () => {
    const { userId } = await granted();
    await granted();
    const whose = { tenantId: 'acme', userId };
    const all = (await api().list(whose, call())).grants;
    expect(all.length).toBeGreaterThanOrEqual(2);
    expect(all[0]).toMatchObject({
      userId,
      clientId: 'web',
      scopes: expect.arrayContaining(['offline_access']) as unknown,
      grantId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    });
    for (const asked of [whose, { tenantId: 'acme', clientId: 'web' }, { ...whose, clientId: 'web' }]) {
      const found: string[] = [];
      let pageToken = '';
      do {
        const page = await api().list({ ...asked, pageSize: 1, pageToken }, call());
        found.push(...page.grants.map(({ grantId }) => grantId));
        pageToken = page.nextPageToken;
      } while (pageToken !== '');
      expect(found).toEqual(all.map(({ grantId }) => grantId));
    }
    expect((await api().list({ ...whose, clientId: 'other' }, call())).grants).toEqual([]);
    expect((await api().list({ ...whose, tenantId: 'globex' }, call())).grants).toEqual([]);
    await expect(api().list({ tenantId: 'acme' }, call())).rejects.toThrow('invalid_argument');
  });

  it('revoke one grant, once, and can repeat it', async () => {
    const { refreshToken, userId } = await granted();
    const before = (await api().list({ tenantId: 'acme', userId }, call())).grants;
    const other = await granted();
    const known = new Set(before.map(({ grantId }) => grantId));
    const after = (await api().list({ tenantId: 'acme', userId }, call())).grants;
    const grantId = after.find((grant) => !known.has(grant.grantId))?.grantId ?? '';
    const named = { tenantId: 'acme', grantId, reason: 'device lost' };
    await expect(api().revokeGrants({ ...named, tenantId: 'globex' }, call())).rejects.toThrow('not_found');
    expect((await api().revokeGrants(named, call())).revoked).toBe(1);
    expect(await works(other.refreshToken)).toBe(false);
    expect(await codeOf(on.refresh(other.refreshToken))).toBe('invalid_grant');
    expect(await works(refreshToken)).toBe(true);
    expect((await api().revokeGrants(named, call())).revoked).toBe(0);
    const rows = (await on.events()).filter(
      ({ event, record }) => event === 'token.revoked' && record['grantId'] === grantId,
    );
    expect(rows).toMatchObject([
      { record: { actor: admin, subject: userId, details: { reason: 'device lost' } } },
    ]);
  });

  it('revoke all grants of a person or an application, and no others', async () => {
    const some = [await granted(), await granted()];
    const userId = some[0]?.userId ?? '';
    for (const nobodys of [
      { tenantId: 'globex', userId },
      { tenantId: 'acme', userId, clientId: 'other' },
      { tenantId: 'acme', clientId: 'other' },
    ])
      expect(await api().revokeGrants(nobodys, call())).toMatchObject({ revoked: 0, more: false });
    for (const { refreshToken } of some) expect(await works(refreshToken)).toBe(true);
    expect((await api().revokeGrants({ tenantId: 'acme', userId }, call())).revoked).toBeGreaterThanOrEqual(
      2,
    );
    for (const { refreshToken } of some) expect(await works(refreshToken)).toBe(false);
    const last = await granted();
    expect((await api().revokeGrants({ tenantId: 'acme', clientId: 'web' }, call())).revoked).toBe(1);
    expect(await works(last.refreshToken)).toBe(false);
    for (const wrong of [{ tenantId: 'acme' }, { tenantId: 'acme', grantId: 'x', userId }])
      await expect(api().revokeGrants(wrong, call())).rejects.toThrow('invalid_argument');
    await expect(api().revokeGrants({ tenantId: 'acme', grantId: 'x' }, call())).rejects.toThrow('not_found');
  });
});

describe('a person', () => {
  it('sees what applications may do without them', async () => {
    const { userId } = await granted();
    const { grants } = await on.token.listPersonGrants({ tenantId: 'acme', userId }, rootCall());
    expect(grants[0]).toMatchObject({
      clientId: 'web',
      scopes: expect.arrayContaining(['offline_access']) as unknown,
    });
    for (const nobodys of [
      { tenantId: 'globex', userId },
      { tenantId: 'acme', userId: 'nobody' },
    ])
      expect((await on.token.listPersonGrants(nobodys, rootCall())).grants).toEqual([]);
  });

  it('revokes all that one application may do, with audit rows of theirs', async () => {
    const some = [await granted(), await granted()];
    const userId = some[0]?.userId ?? '';
    const revoke = async (difference: object = {}) => {
      const asked = { tenantId: 'acme', userId, clientId: 'web', ipAddress: '203.0.113.9' };
      return on.token.revokePersonGrants({ ...asked, ...difference }, rootCall());
    };
    for (const nobodys of [{ tenantId: 'globex' }, { userId: 'nobody' }, { clientId: 'other' }])
      expect(await revoke(nobodys)).toMatchObject({ more: false });
    for (const { refreshToken } of some) expect(await works(refreshToken)).toBe(true);
    expect(await revoke()).toMatchObject({ more: false });
    for (const { refreshToken } of some) expect(await codeOf(on.refresh(refreshToken))).toBe('invalid_grant');
    const rows = (await on.events()).filter(({ event }) => event === 'token.revoked');
    expect(rows.at(-1)?.record).toMatchObject({
      actor: { type: 'user', id: userId },
      subject: userId,
      clientId: 'web',
      ipAddress: '203.0.113.9',
    });
    for (const wrong of [{ userId: '' }, { clientId: '' }])
      await expect(revoke(wrong)).rejects.toThrow('invalid_argument');
  });
});
