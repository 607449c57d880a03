import { createLimiter } from '@tessera/stores';
import { rootCall } from '@tessera/rpc';
import { systemRandom } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import { ApplicationType, ChangeKind, Status } from '@tessera/proto-gen/directory';
import { FakeDirectory, secretOf } from '../testing/fake-directory.ts';
import { fakeClock, silentLog, waitFor } from '@tessera/test-kit';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { RequestedIssuer } from '../directory-client-types.ts';
import { createDirectoryClient } from '../client.ts';
import { ClientRefusal } from './client-authenticator.ts';
import type { AcceptedClients, DirectoryClient } from '../directory-client-types.ts';

const call = rootCall('a-request');
const here = { ipAddress: '192.0.2.1' };
let clock: ReturnType<typeof fakeClock>;
let directory: FakeDirectory;
let client: DirectoryClient;

beforeEach(async () => {
  clock = fakeClock();
  directory = new FakeDirectory('token', 0);
  for (const tenantId of ['acme', 'globex']) directory.addTenant(tenantId);
  directory.addApplication('service');
  directory.addApplication('spa', { type: ApplicationType.PUBLIC, secret: 'none' });
  const runtime = { clock, random: systemRandom, log: silentLog() };
  const limiter = createLimiter({ redis: undefined, clock, log: runtime.log, prefix: 'test' });
  client = createDirectoryClient({ directory: directory.client, runtime, limiter });
  await vi.waitUntil(() => directory.changes.watchers === 1);
});

afterEach(() => client.close());

const sharedIssuer = { issuer: 'https://id.example', tenantId: '' };

function attempt(clientId: string, clientSecret: string | undefined, caller = here) {
  return client.authenticateClient({ clientId, clientSecret }, { at: sharedIssuer, ...caller }, call);
}

async function refusal(answer: Promise<unknown>): Promise<string> {
  const error: unknown = await answer.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof OAuthError)) throw new Error('expected a refusal');
  return `${error.code}: ${error.message}`;
}

it('accepts the secret of a confidential client, the second time without a call (RFC 6749 §2.3.1)', async () => {
  expect((await attempt('service', secretOf('service'))).application.clientId).toBe('service');
  const before = { ...directory.calls };
  expect((await attempt('service', secretOf('service'))).tenant.tenantId).toBe('acme');
  expect(directory.calls).toEqual(before);
});

it('reports a cached secret as used every five minutes, without delaying a request', async () => {
  const verifications = () => directory.calls.verifyApplicationSecret;
  const later = async (minutes: number) => {
    clock.advance(minutes * 60_000);
    await client.application('service', call);
  };
  await attempt('service', secretOf('service'));
  await later(4.9);
  await attempt('service', secretOf('service'));
  expect(verifications()).toBe(1);
  await later(0.1);
  const release = Promise.withResolvers<void>();
  directory.hold = release.promise;
  await Promise.all(Array.from({ length: 20 }, () => attempt('service', secretOf('service'))));
  expect(verifications()).toBe(2);
  directory.hold = undefined;
  release.resolve();
  await later(5);
  directory.unavailable = true;
  await attempt('service', secretOf('service'));
  await attempt('service', secretOf('service'));
  expect(verifications()).toBe(3);
});

it('drops a cached secret that the directory rejects', async () => {
  await attempt('service', secretOf('service'));
  directory.addApplication('service', { secret: 'rotated' });
  clock.advance(300_000);
  await attempt('service', secretOf('service'));
  await waitFor(async () => {
    expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^invalid_client/);
  });
});

it('accepts a public client by its identifier alone, and treats an empty secret as none (RFC 6749 §2.3.1)', async () => {
  expect((await attempt('spa', undefined)).application.clientId).toBe('spa');
  expect((await attempt('spa', '')).application.clientId).toBe('spa');
});

it('accepts only the client types that the endpoint allows (RFC 6749 §2.1)', async () => {
  directory.addApplication('off', { status: Status.DISABLED });
  const accepted = (clientId: string, accepts: AcceptedClients, clientSecret?: string) =>
    client.authenticateClient({ clientId, clientSecret }, { at: sharedIssuer, ...here, accepts }, call).then(
      ({ application }) => application.clientId,
      (error: unknown) =>
        error instanceof OAuthError && error.cause instanceof ClientRefusal ? error.cause.reason : error,
    );
  expect(await accepted('service', 'confidential', secretOf('service'))).toBe('service');
  expect(await accepted('service', 'confidential')).toBe('no_secret');
  expect(await accepted('spa', 'confidential')).toBe('public_client');
  expect(await accepted('service', 'public')).toBe('no_secret');
  expect(await accepted('spa', 'public')).toBe('spa');
  expect(await accepted('service', 'identified')).toBe('service');
  expect(await accepted('service', 'identified', 'wrong')).toBe('secret_mismatch');
  expect(await accepted('spa', 'identified', 'any')).toBe('unexpected_secret');
  expect(await accepted('spa', 'identified')).toBe('spa');
  expect(await accepted('off', 'identified')).toBe('application_inactive');
  expect(await accepted('off', 'identified', secretOf('off'))).toBe('application_inactive');
  expect(await accepted('unknown', 'identified')).toBe('unknown_client');
  expect(await accepted('unknown', 'identified', 'any')).toBe('unknown_client');
});

it('refuses every failed authentication with the same invalid_client (RFC 6749 §5.2)', async () => {
  directory.addApplication('off', { status: Status.DISABLED });
  directory.addApplication('off-spa', { status: Status.DISABLED, type: ApplicationType.PUBLIC });
  directory.addTenant('closed', { status: Status.DISABLED });
  directory.addApplication('orphan', { tenantId: 'closed' });
  const refusals = await Promise.all([
    refusal(attempt('unknown', secretOf('service'))),
    refusal(attempt('unknown', undefined)),
    refusal(attempt('service', 'wrong')),
    refusal(attempt('service', undefined)),
    refusal(attempt('service', '')),
    refusal(attempt('spa', secretOf('a'))),
    refusal(attempt('spa', 'none')),
    refusal(attempt('off', secretOf('off'))),
    refusal(attempt('off-spa', undefined)),
    refusal(attempt('orphan', secretOf('orphan'))),
  ]);
  expect(new Set(refusals)).toEqual(new Set(['invalid_client: Client authentication failed.']));
});

it('does not accept the cached secret of another client', async () => {
  directory.addApplication('other');
  await attempt('service', secretOf('service'));
  expect(await refusal(attempt('other', secretOf('service')))).toMatch(/^invalid_client/);
});

it('drops a cached secret when the application changes', async () => {
  await attempt('service', secretOf('service'));
  directory.addApplication('service', { secret: 'rotated' });
  directory.changes.send(ChangeKind.APPLICATION, 'acme', 'service');
  await waitFor(async () => {
    expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^invalid_client/);
  });
  await expect(attempt('service', 'rotated')).resolves.toBeDefined();
});

it('drops a cached secret when its tenant changes', async () => {
  await attempt('service', secretOf('service'));
  const before = directory.calls.verifyApplicationSecret;
  directory.changes.send(ChangeKind.TENANT, 'acme', '');
  await waitFor(async () => {
    await attempt('service', secretOf('service'));
    expect(directory.calls.verifyApplicationSecret).toBeGreaterThan(before);
  });
});

it('keeps a cached secret when only a user changes', async () => {
  directory.addApplication('other');
  for (const clientId of ['service', 'other']) await attempt(clientId, secretOf(clientId));
  const verifications = () => directory.calls.verifyApplicationSecret;
  directory.changes.send(ChangeKind.USER, 'acme', 'ada');
  // Changes arrive in order: once this one has, so has the one before.
  directory.changes.send(ChangeKind.APPLICATION, 'acme', 'other');
  await waitFor(async () => {
    await attempt('other', secretOf('other'));
    expect(verifications()).toBeGreaterThan(2);
  });
  const before = verifications();
  await attempt('service', secretOf('service'));
  expect(verifications()).toBe(before);
});

it('does not cache a secret that was rotated during verification', async () => {
  const release = Promise.withResolvers<void>();
  directory.hold = release.promise;
  const slow = attempt('service', secretOf('service'));
  await waitFor(() => expect(directory.calls.verifyApplicationSecret).toBe(1));
  directory.addApplication('service', { secret: 'rotated' });
  directory.changes.send(ChangeKind.APPLICATION, 'acme', 'service');
  await new Promise((resolve) => setTimeout(resolve, 20));
  directory.hold = undefined;
  release.resolve();
  await slow;
  expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^invalid_client/);
});

it('verifies a secret again once it has expired', async () => {
  const expiresAt = BigInt(Math.floor(clock.now() / 1000) + 5);
  directory.addApplication('service', { secretExpiresAt: expiresAt });
  await attempt('service', secretOf('service'));
  directory.addApplication('service', { secret: 'the-expired-one-is-gone' });
  clock.advance(4_000);
  await expect(attempt('service', secretOf('service'))).resolves.toBeDefined();
  clock.advance(1_000);
  expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^invalid_client/);
});

it('trusts a cached secret for only one second while the watch is interrupted', async () => {
  await attempt('service', secretOf('service'));
  directory.unavailable = true;
  directory.changes.disconnect();
  await waitFor(() => expect(directory.changes.watchers).toBe(0));
  clock.advance(1_001);
  expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^temporarily_unavailable/);
});

it('limits guesses per client and address before the check, even if they are concurrent', async () => {
  const guesses = Array.from({ length: 60 }, (_, index) => refusal(attempt('service', `guess ${index}`)));
  const refusals = await Promise.all(guesses);
  expect(refusals.filter((text) => text.startsWith('invalid_client'))).toHaveLength(20);
  expect(refusals.filter((text) => text.startsWith('rate_limited'))).toHaveLength(40);
  expect(directory.calls.verifyApplicationSecret).toBe(20);
  expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^rate_limited/);
  await expect(attempt('service', secretOf('service'), { ipAddress: '192.0.2.2' })).resolves.toBeDefined();
});

it('limits guesses per address across all clients, known or unknown', async () => {
  const guesses = Array.from({ length: 320 }, (_, index) => refusal(attempt(`client-${index}`, 'guess')));
  const refusals = await Promise.all(guesses);
  expect(refusals.filter((text) => text.startsWith('rate_limited'))).toHaveLength(20);
});

it('limits guesses per client from many addresses, and never locks out the client itself (CLI, ASVS 6.3.1)', async () => {
  const from = (host: number) => ({ ipAddress: `198.51.${host >> 8}.${host & 255}` });
  const guess = (host: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) => refusal(attempt('service', `guess ${index}`, from(host)))),
    );
  const wrong = (answers: string[]) => answers.filter((text) => text.startsWith('invalid_client')).length;
  for (let host = 0; host < 25; host += 1) expect(wrong(await guess(host, 20))).toBe(20);
  for (let host = 25; host < 35; host += 1) expect(wrong(await guess(host, 20))).toBe(5);
  for (let host = 35; host < 45; host += 1) {
    directory.changes.send(ChangeKind.APPLICATION, 'acme', 'service');
    await new Promise((resolve) => setTimeout(resolve, 10));
    await expect(attempt('service', secretOf('service'), from(host))).resolves.toBeDefined();
  }
  directory.addApplication('other');
  expect(wrong(await Promise.all([1, 2, 3].map((n) => refusal(attempt('other', `${n}`, from(99))))))).toBe(3);
});

it('refuses no client as a guesser while right secrets are verified, of 2,000 applications at one address at once', async () => {
  for (let index = 0; index < 2_000; index += 1) directory.addApplication(`good-${index}`);
  for (let index = 0; index < 250; index += 1) await refusal(attempt(`bad-${index}`, 'guess'));
  const outcomes = await Promise.all(
    Array.from({ length: 2_000 }, (_, index) =>
      attempt(`good-${index}`, secretOf(`good-${index}`)).then(
        () => 'accepted',
        (error: unknown) =>
          error instanceof OAuthError ? `${error.code} ${error.retryAfterSeconds}` : error,
      ),
    ),
  );
  const others = outcomes.filter(
    (outcome) => !['accepted', 'temporarily_unavailable 1'].includes(String(outcome)),
  );
  expect(others).toEqual([]);
  expect(outcomes).toContain('accepted');
});

it('charges the budget of an address only for wrong secrets', async () => {
  for (let index = 0; index < 350; index += 1) {
    directory.addApplication(`good-${index}`);
    await expect(attempt(`good-${index}`, secretOf(`good-${index}`))).resolves.toBeDefined();
  }
  for (let index = 0; index < 290; index += 1) await refusal(attempt(`bad-${index}`, 'guess'));
  directory.addApplication('mine');
  await attempt('mine', secretOf('mine'));
  const more = await Promise.all(
    Array.from({ length: 20 }, (_, index) => refusal(attempt(`worse-${index}`, 'guess'))),
  );
  expect(more.filter((text) => text.startsWith('invalid_client'))).toHaveLength(10);
});

it('does not count an attempt if the directory did not answer', async () => {
  directory.unavailable = true;
  for (let index = 0; index < 600; index += 1) {
    expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^temporarily_unavailable/);
  }
  directory.unavailable = false;
  await expect(attempt('service', secretOf('service'))).resolves.toBeDefined();
});

it('restarts the count after a success', async () => {
  for (let round = 0; round < 3; round += 1) {
    for (let guess = 0; guess < 15; guess += 1) await refusal(attempt('service', `guess ${guess}`));
    directory.changes.send(ChangeKind.APPLICATION, 'acme', 'service');
    await new Promise((resolve) => setTimeout(resolve, 20));
    await expect(attempt('service', secretOf('service'))).resolves.toBeDefined();
  }
});

it('counts concurrent attempts with the same secret once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => attempt('service', secretOf('service'))),
  );
  expect(answers).toHaveLength(100);
  expect(directory.calls.verifyApplicationSecret).toBe(1);
});

it('does not fail a caller because an earlier one with the same secret ran out of time, and counts nothing', async () => {
  const release = Promise.withResolvers<void>();
  directory.hold = release.promise;
  const secret = {
    clientId: 'service',
    clientSecret: secretOf('service'),
  } as const;
  const hurried = client.authenticateClient(secret, { at: sharedIssuer, ...here }, rootCall('hurried', 30));
  const patient = attempt('service', secretOf('service'));
  expect(await refusal(hurried)).toMatch(/^temporarily_unavailable/);
  release.resolve();
  expect((await patient).application.clientId).toBe('service');
  expect(directory.calls.verifyApplicationSecret).toBe(1);
});

it('reports an unavailable directory instead of an unknown client', async () => {
  directory.unavailable = true;
  expect(await refusal(attempt('service', secretOf('service')))).toMatch(/^temporarily_unavailable/);
  expect(await refusal(attempt('spa', undefined))).toMatch(/^temporarily_unavailable/);
});

it('knows the clients of a tenant only at the issuer of that tenant', async () => {
  const issuer = 'https://login.umbra.example';
  directory.addTenant('umbra', { issuer });
  directory.addApplication('umbra-service', { tenantId: 'umbra' });
  const at = (requested: RequestedIssuer, clientId: string) =>
    client
      .authenticateClient({ clientId, clientSecret: secretOf(clientId) }, { ...here, at: requested }, call)
      .then(
        ({ application }) => application.clientId,
        () => 'unknown',
      );
  const own = { issuer, tenantId: 'umbra' };
  expect(await at(own, 'umbra-service')).toBe('umbra-service');
  expect(await at(own, 'service')).toBe('unknown');
  expect(await at(sharedIssuer, 'service')).toBe('service');
  expect(await at(sharedIssuer, 'umbra-service')).toBe('unknown');
  expect(await at({ issuer: 'https://login.acme.example', tenantId: 'acme' }, 'umbra-service')).toBe(
    'unknown',
  );
});

it('lists the issuers of tenants, again after a change, and from memory while the directory is unavailable', async () => {
  expect(await client.tenantIssuers()).toEqual(new Map());
  directory.addTenant('umbra', { issuer: 'https://login.umbra.example' });
  directory.changes.send(ChangeKind.TENANT, 'umbra', '');
  const expected = new Map([['https://login.umbra.example', 'umbra']]);
  await waitFor(async () => expect(await client.tenantIssuers()).toEqual(expected));
  const calls = directory.calls.listTenantIssuers;
  await client.tenantIssuers();
  expect(directory.calls.listTenantIssuers).toBe(calls);
  directory.unavailable = true;
  directory.changes.send(ChangeKind.TENANT, 'umbra', '');
  expect(await client.tenantIssuers()).toEqual(expected);
});
