import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

const callback = 'https://app.example/callback';
const code = { grantTypes: ['authorization_code', 'refresh_token'], redirectUris: [callback] };
const loopback = { ...code, redirectUris: ['http://127.0.0.1/'], loopbackPorts: 'any' };
const kinds = {
  web: { type: 'confidential', ...code },
  'single-page': { type: 'public', ...code },
  native: { type: 'public', ...code, redirectUris: [callback, 'com.example.app:/callback'] },
  device: { type: 'public', grantTypes: ['device_code'] },
  service: { type: 'confidential', grantTypes: ['client_credentials', 'refresh_token'] },
  approvals: { type: 'confidential', grantTypes: ['ciba'] },
  api: { type: 'confidential', grantTypes: ['refresh_token'] },
};

it('is narrowed by kind, status and owner, page by page, and says what each is for and when it was used', async () => {
  const database = await testDatabase(migrations);
  const { api } = startRecords(database);
  const tenantId = 'narrowed';
  await api.tenants.create({ tenantId, tenant: { tenantId, name: 'Acme' } }, call());
  const add = async (clientId: string, application: object, owner = '') =>
    api.applications.create(
      { tenantId, owner, application: { clientId, name: clientId, ...application } },
      call(),
    );
  for (const [kind, application] of Object.entries(kinds)) await add(`n-${kind}`, application);
  await add('n-loopback', { type: 'public', ...loopback });
  for (let n = 0; n < 5; n += 1)
    await add(`n-team-${n}`, { ...kinds.service, status: n === 0 ? 'disabled' : 'active' }, 'team');
  const found = async (asked: object) => {
    const { applications } = await api.applications.list({ tenantId, ...asked }, call());
    return applications.map(({ clientId }) => clientId);
  };
  for (const kind of Object.keys(kinds)) {
    expect((await api.applications.get({ tenantId, clientId: `n-${kind}` }, call())).kind).toBe(kind);
    expect(await found({ kind })).toContain(`n-${kind}`);
  }
  expect(await found({ kind: 'native' })).toEqual(['n-loopback', 'n-native']);
  expect(await found({ owner: 'team', status: 'active' })).toHaveLength(4);
  expect(await found({ kind: 'service', status: 'disabled', search: 'TEAM' })).toEqual(['n-team-0']);

  const asked = { tenantId, kind: 'service', owner: 'team', pageSize: 2 };
  const first = await api.applications.list(asked, call());
  const second = await api.applications.list({ ...asked, pageToken: first.nextPageToken }, call());
  expect([...first.applications, ...second.applications].map(({ clientId }) => clientId)).toEqual([
    'n-team-0',
    'n-team-1',
    'n-team-2',
    'n-team-3',
  ]);
  const other = api.applications.list({ ...asked, owner: '', pageToken: first.nextPageToken }, call());
  await expect(other).rejects.toThrow('belongs to another search');

  const { secretId } = await api.applications.createSecret({ tenantId, clientId: 'n-web' }, call());
  expect(secretId).not.toBe('');
  const usedAt = `UPDATE directory.application_secret SET last_used_at = '2026-03-04T05:06:07Z' WHERE client_id = 'n-web'`;
  await database.query({ name: 'test.used', text: usedAt, values: [] });
  const [web] = (await api.applications.list({ tenantId, kind: 'web' }, call())).applications;
  expect(web?.lastUseTime?.seconds).toBe(BigInt(Date.parse('2026-03-04T05:06:07Z') / 1000));
});
