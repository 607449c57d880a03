import { rootCall, type CallerName } from '@tessera/rpc';
import { systemRandom } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { ChangeKind, Status } from '@tessera/proto-gen/directory';
import { FakeDirectory, secretOf } from './testing/fake-directory.ts';
import { fakeClock, silentLog, waitFor } from '@tessera/test-kit';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDirectoryClient } from './client.ts';
import { mayUse } from './access.ts';
import type { DirectoryClient } from './directory-client-types.ts';

const sharedIssuer = { issuer: 'https://id.example', tenantId: '' };

const call = rootCall('a-request');
const clock = fakeClock();
let directory: FakeDirectory;
let client: DirectoryClient;

async function start(as: CallerName): Promise<void> {
  directory = new FakeDirectory(as, 0);
  for (const tenantId of ['acme', 'globex']) directory.addTenant(tenantId);
  directory.addApplication('acme-web');
  directory.addApplication('globex-web', { tenantId: 'globex' });
  directory.addUser('usr_ada');
  client = createDirectoryClient({
    directory: directory.client,
    runtime: { clock, random: systemRandom, log: silentLog() },
  });
  await vi.waitUntil(() => directory.changes.watchers === 1);
}

beforeEach(() => start('token'));
afterEach(() => client.close());

describe('the cache of the directory client', () => {
  it('reads a record once for concurrent and later callers', async () => {
    const asked = Array.from({ length: 20 }, () => client.application('acme-web', call));
    const records = await Promise.all(asked);
    expect(records.map((record) => record?.tenant.tenantId)).toEqual(Array(20).fill('acme'));
    await client.application('acme-web', call);
    expect(directory.calls.getApplication).toBe(1);
  });

  it('reads a record again after ten minutes, whatever the watch says', async () => {
    await client.user('acme', 'usr_ada', call);
    clock.advance(599_000);
    await client.user('acme', 'usr_ada', call);
    expect(directory.calls.getUser).toBe(1);
    clock.advance(1_001);
    await client.user('acme', 'usr_ada', call);
    expect(directory.calls.getUser).toBe(2);
  });

  it('keeps the records and the secrets of 12,000 clients that ask in turn', async () => {
    const clientIds = Array.from({ length: 12_000 }, (_, index) => `client-${index}`);
    for (const clientId of clientIds) directory.addApplication(clientId);
    const askAll = async () => {
      for (const clientId of clientIds)
        await client.authenticateClient(
          { clientId, clientSecret: secretOf(clientId) },
          { ipAddress: '', at: sharedIssuer },
          call,
        );
    };
    await askAll();
    expect(directory.calls).toMatchObject({ getApplication: 12_000, verifyApplicationSecret: 12_000 });
    clock.advance(112_000);
    await askAll();
    expect(directory.calls).toMatchObject({ getApplication: 12_000, verifyApplicationSecret: 12_000 });
  });

  it('knows which tenants exist, with one call per tenant', async () => {
    await client.close();
    await start('authorize');
    // The first position of the stream, which clears the cache, has then been read.
    await directory.changes.sendAndWait(ChangeKind.USER, 'acme', 'usr_ada', Status.ACTIVE);
    for (let asked = 0; asked < 3; asked += 1) {
      expect(await client.hasTenant('acme', call)).toBe(true);
    }
    expect(directory.calls.getTenant).toBe(1);
    expect(await client.hasTenant('nobody', call)).toBe(false);
    directory.addTenant('nobody');
    expect(await client.hasTenant('nobody', call)).toBe(true);
    for (const id of ['', 'a\0b', 'a b', 'é', 'x'.repeat(129)]) {
      expect(await client.hasTenant(id, call)).toBe(false);
    }
  });

  it('does not cache unknown records', async () => {
    expect(await client.application('new-app', call)).toBeUndefined();
    directory.addApplication('new-app');
    expect((await client.application('new-app', call))?.application.clientId).toBe('new-app');
  });

  it('answers without a call for identifiers that cannot be registered', async () => {
    for (const id of ['', 'a\0b', 'a b', 'é', 'x'.repeat(129)]) {
      expect(await client.application(id, call)).toBeUndefined();
      expect(await client.user('acme', id, call)).toBeUndefined();
    }
    expect(directory.calls).toMatchObject({ getApplication: 0, getUser: 0 });
  });

  it('separates tenants: another tenant does not find the user', async () => {
    expect(await client.user('acme', 'usr_ada', call)).toBeDefined();
    expect(await client.user('globex', 'usr_ada', call)).toBeUndefined();
  });

  it('does not serve expired records while the directory is unavailable', async () => {
    await client.application('acme-web', call);
    directory.unavailable = true;
    clock.advance(600_001);
    await expect(client.application('acme-web', call)).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
  });

  it('completes a look-up after the caller that started it gave up', async () => {
    const release = Promise.withResolvers<void>();
    directory.hold = release.promise;
    const leaving = new AbortController();
    const first = client.application('acme-web', rootCall('first', 5_000, leaving.signal));
    const second = client.application('acme-web', call);
    leaving.abort();
    await expect(first).rejects.toThrow();
    release.resolve();
    expect((await second)?.application.clientId).toBe('acme-web');
  });

  it('serves callers with time left after the deadline of the caller that started the look-up', async () => {
    const release = Promise.withResolvers<void>();
    directory.hold = release.promise;
    const hurried = client.application('acme-web', rootCall('hurried', 30));
    const patient = client.application('acme-web', call);
    await expect(hurried).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    release.resolve();
    expect((await patient)?.application.clientId).toBe('acme-web');
    expect(directory.calls.getApplication).toBe(1);
  });

  it('respects the deadline of each caller, also of one that joins a look-up', async () => {
    const release = Promise.withResolvers<void>();
    directory.hold = release.promise;
    const patient = client.application('acme-web', call);
    const hurried = client.application('acme-web', rootCall('hurried', 30));
    await expect(hurried).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    release.resolve();
    expect((await patient)?.application.clientId).toBe('acme-web');
  });
});

describe('a change in the directory', () => {
  it('of an application drops only that application', async () => {
    await client.application('acme-web', call);
    await client.application('globex-web', call);
    directory.addApplication('acme-web', { status: Status.DISABLED });
    directory.changes.send(ChangeKind.APPLICATION, 'acme', 'acme-web');
    await waitFor(async () => {
      expect((await client.application('acme-web', call))?.application.status).toBe(Status.DISABLED);
    });
    await client.application('globex-web', call);
    expect(directory.calls.getApplication).toBe(3);
  });

  it('of a tenant drops only the applications and users of that tenant', async () => {
    await client.application('acme-web', call);
    await client.application('globex-web', call);
    await client.user('acme', 'usr_ada', call);
    directory.addTenant('acme', { status: Status.DISABLED });
    directory.changes.send(ChangeKind.TENANT, 'acme', '');
    await waitFor(async () => {
      const record = await client.application('acme-web', call);
      expect(record !== undefined && client.isActive(record)).toBe(false);
    });
    await client.user('acme', 'usr_ada', call);
    await client.application('globex-web', call);
    expect(directory.calls).toMatchObject({ getApplication: 3, getUser: 2 });
  });

  it('during a look-up keeps the stale record out of the cache', async () => {
    const release = Promise.withResolvers<void>();
    directory.hold = release.promise;
    const stale = client.user('acme', 'usr_ada', call);
    directory.addUser('usr_bob');
    directory.changes.send(ChangeKind.USER, 'acme', 'usr_ada');
    directory.changes.send(ChangeKind.USER, 'acme', 'usr_bob');
    await new Promise((resolve) => setTimeout(resolve, 20));
    directory.hold = undefined;
    release.resolve();
    expect(await stale).toBeDefined();
    await client.user('acme', 'usr_ada', call);
    expect(directory.calls.getUser).toBe(2);
  });
});

describe('while the watch is interrupted', () => {
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
  /** Cuts the watch once it has a position to resume from and an application is cached. */
  const cutWhileKnown = async () => {
    directory.changes.send(ChangeKind.USER, 'acme', 'usr_nobody');
    await settled();
    await client.application('acme-web', call);
    directory.changes.disconnect();
  };
  const resumed = async () => {
    await waitFor(() => expect(directory.changes.watchedAfter).toEqual([0n, 2n]));
    await settled();
  };

  it('records are trusted for one second, and the watch resumes at its position', async () => {
    await client.application('acme-web', call);
    directory.changes.send(ChangeKind.USER, 'acme', 'usr_nobody');
    await new Promise((resolve) => setTimeout(resolve, 20));
    directory.unavailable = true;
    directory.changes.disconnect();
    await waitFor(() => expect(directory.changes.watchers).toBe(0));
    directory.unavailable = false;
    const before = directory.calls.getApplication;
    clock.advance(1_001);
    await client.application('acme-web', call);
    expect(directory.calls.getApplication).toBe(before + 1);
    await waitFor(() => expect(directory.changes.watchers).toBe(1));
    expect(directory.changes.watchedAfter.at(-1)).toBe(2n);
  });

  it('earlier records are not trusted until the missed changes arrive, even if the watch resumes', async () => {
    await cutWhileKnown();
    directory.changes.isStalled = true;
    directory.addApplication('acme-web', { status: Status.DISABLED });
    directory.changes.send(ChangeKind.APPLICATION, 'acme', 'acme-web');
    await resumed();
    clock.advance(1_001);
    expect((await client.application('acme-web', call))?.application.status).toBe(Status.DISABLED);
    directory.changes.isStalled = false;
    directory.changes.send(ChangeKind.USER, 'acme', 'usr_nobody');
    await settled();
    await client.application('acme-web', call);
    clock.advance(599_000);
    await client.application('acme-web', call);
    expect(directory.calls.getApplication).toBe(3);
  });

  it('earlier records are trusted again once the resumed watch reports no missed changes', async () => {
    await cutWhileKnown();
    await resumed();
    clock.advance(1_001);
    await client.application('acme-web', call);
    expect(directory.calls.getApplication).toBe(2);
    directory.changes.beat();
    await settled();
    clock.advance(599_000);
    await client.application('acme-web', call);
    expect(directory.calls.getApplication).toBe(2);
  });

  it('the cache is dropped if the watch cannot resume', async () => {
    directory.changes.send(ChangeKind.USER, 'acme', 'usr_nobody');
    await client.application('acme-web', call);
    await new Promise((resolve) => setTimeout(resolve, 20));
    directory.changes.forgotten = 1_000n;
    directory.changes.disconnect();
    directory.changes.send(ChangeKind.APPLICATION, 'acme', 'acme-web');
    await waitFor(() => expect(directory.calls.watchChanges).toBeGreaterThan(1));
    await waitFor(() => expect(directory.changes.watchers).toBe(1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    await client.application('acme-web', call);
    expect(directory.calls.getApplication).toBe(2);
  });

  it('the watch recovers by itself after an outage', async () => {
    directory.unavailable = true;
    directory.changes.disconnect();
    await waitFor(() => expect(directory.calls.watchChanges).toBeGreaterThan(3));
    directory.unavailable = false;
    await waitFor(() => expect(directory.changes.watchers).toBe(1));
  });
});

it.each<[string[], string[], boolean]>([
  [[], [], true],
  [[], ['clerk'], true],
  [['clerk'], ['clerk'], true],
  [['manager', 'clerk'], ['driver', 'clerk'], true],
  [['clerk'], [], false],
  [['clerk'], ['manager'], false],
  [['clerk'], ['Clerk', 'clerks', ''], false],
])(
  'says of an application for %j that a person with %j may use it: %s (DEV-2)',
  (allowedRoles, roles, may) => {
    expect(mayUse({ allowedRoles }, { roles })).toBe(may);
  },
);

it('treats a record as active unless it or its tenant is disabled or locked', async () => {
  const record = await client.application('acme-web', call);
  if (record === undefined) throw new OAuthError('server_error', 'the application is missing');
  const { application, tenant } = record;
  expect(client.isActive(record)).toBe(true);
  expect(client.isActive({ application: { ...application, validFrom: 7n }, tenant }, 7)).toBe(true);
  expect(client.isActive({ application: { ...application, validFrom: 7n }, tenant }, 6)).toBe(false);
  expect(client.isActive({ application: { ...application, validFrom: 7n }, tenant })).toBe(true);
  expect(client.isActive({ application, tenant: { ...tenant, status: Status.DISABLED } })).toBe(false);
  expect(client.isActive({ ...application, status: Status.DISABLED })).toBe(false);
  const user = await client.user('acme', 'usr_ada', call);
  expect(user !== undefined && client.isActive({ ...user, status: Status.LOCKED })).toBe(false);
});
