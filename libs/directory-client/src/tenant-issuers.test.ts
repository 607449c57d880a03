import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { ChangeKind, Status } from '@tessera/proto-gen/directory';
import { FakeDirectory } from './testing/fake-directory.ts';
import { fakeClock, silentLog } from '@tessera/test-kit';
import { IssuerList, watchTenantIssuers, type WatchedIssuers } from './tenant-issuers.ts';

const issuer = 'https://login.acme.example';
const expected = new Map([[issuer, 'acme']]);
const clock = fakeClock();
let directory: FakeDirectory;

beforeEach(() => {
  directory = new FakeDirectory('gateway', 0);
  directory.addTenant('acme', { issuer });
});

describe('the list of tenant issuers', () => {
  const list = () => new IssuerList({ directory: directory.client, clock, maxAge: () => 1_000 });

  it('is used while the directory is unavailable, which is asked once a second', async () => {
    const issuers = list();
    expect(await issuers.get()).toEqual(expected);
    directory.unavailable = true;
    clock.advance(1_001);
    for (let asked = 0; asked < 5; asked += 1) expect(await issuers.get()).toEqual(expected);
    expect(directory.calls.listTenantIssuers).toBe(2);
    clock.advance(1_000);
    expect(await issuers.get()).toEqual(expected);
    expect(directory.calls.listTenantIssuers).toBe(3);
  });

  it('is never empty for want of an answer: there is none until it was read', async () => {
    directory.unavailable = true;
    const issuers = list();
    await issuers.reload();
    expect(issuers.current()).toBeUndefined();
    await expect(issuers.get()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    directory.unavailable = false;
    expect(await issuers.get()).toEqual(expected);
  });

  it('tells whose resources declare more algorithms than before', async () => {
    const told: (readonly string[])[] = [];
    const onDeclared = (tenantIds: readonly string[]) => void told.push(tenantIds);
    const issuers = new IssuerList({ directory: directory.client, clock, maxAge: () => 1_000, onDeclared });
    const declared = () => ['', 'acme', 'globex'].map((tenantId) => issuers.declaredBy(tenantId));
    directory.addTenant('acme', { issuer, signingAlgorithms: ['ES256'] });
    directory.addTenant('globex', { issuer: 'https://login.globex.example' });
    expect(declared()).toEqual([[], [], []]);
    await issuers.get();
    expect(declared()).toEqual([[], ['ES256'], []]);
    expect(told).toEqual([]);
    directory.addTenant('globex', { issuer: 'https://login.globex.example', signingAlgorithms: ['ES256'] });
    directory.addTenant('acme', { issuer });
    directory.sharedAlgorithms = ['ES256'];
    await issuers.reload();
    expect(declared()).toEqual([['ES256'], [], ['ES256']]);
    expect(told).toEqual([['globex', '']]);
    await issuers.reload();
    expect(told).toHaveLength(1);
  });

  it('is read anew on request, however fresh it is', async () => {
    const issuers = list();
    await issuers.get();
    directory.addTenant('globex', { issuer: 'https://login.globex.example' });
    await issuers.reload();
    expect(issuers.current()?.size).toBe(2);
    expect(directory.calls.listTenantIssuers).toBe(2);
  });
});

describe('the watched list of tenant issuers', () => {
  let issuers: WatchedIssuers;
  beforeEach(async () => {
    const runtime = { clock, random: systemRandom, log: silentLog() };
    issuers = watchTenantIssuers({ directory: directory.client, runtime });
    await vi.waitUntil(() => directory.changes.watchers === 1);
  });
  afterEach(() => issuers.close());

  it('is read as soon as the directory is reached, and again after a change of a tenant alone', async () => {
    await vi.waitUntil(() => directory.calls.listTenantIssuers === 1);
    expect(await issuers.get()).toEqual(expected);
    await directory.changes.sendAndWait(ChangeKind.APPLICATION, 'acme', 'web', Status.ACTIVE);
    await directory.changes.sendAndWait(ChangeKind.USER, 'acme', 'ada', Status.ACTIVE);
    expect(directory.calls.listTenantIssuers).toBe(1);
    directory.addTenant('acme', { issuer: '' });
    await directory.changeTenant('acme', Status.ACTIVE);
    await vi.waitUntil(() => issuers.current()?.size === 0);
    expect(directory.calls.listTenantIssuers).toBe(2);
  });
});
