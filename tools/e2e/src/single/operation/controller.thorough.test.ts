import { claimsOf, tokensOf } from '@tessera/test-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redirectUri } from '../../harness/declared-names.ts';
import {
  application,
  resource,
  startControlled,
  type Controlled,
} from '../../harness/kubernetes/controlled-cluster.ts';
import { codeFor, redeem, refresh } from '../../harness/flows.ts';
import {
  conditionIn,
  conditionOf,
  type Declared,
  type KubernetesApi,
} from '../../harness/kubernetes/kubernetes-api.ts';
import type { System } from '../../harness/set-up.ts';

const [many, kills] = [200, 20];
/** The time limit of a test is that of a machine that has much else to do. */
const whileItGoesOn = { timeout: 600_000, interval: 200 };

describe('the controller of a cluster', () => {
  let controlled: Controlled;
  let system: System;
  let api: KubernetesApi;

  beforeAll(async () => {
    controlled = await startControlled();
    ({ system, api } = controlled);
  });
  afterAll(async () => controlled?.stop());

  const asked = async (name: string, namespace = 'shop') => controlled.asked({ namespace, name });
  const statusOf = (name: string, namespace?: string) => async () => (await asked(name, namespace)).status;
  const messageOf = async (object: Declared) => (await api.status(object))?.conditions?.[0]?.message;
  /** Waits until `Ready` of an object says that, or begins so. */
  async function becomes(object: Declared, said: string): Promise<void> {
    await expect.poll(async () => conditionOf(api, object)).toContain(said);
  }
  async function written(object: Declared): Promise<void> {
    await api.apply(object);
    await becomes(object, 'True Written');
  }

  it('makes an object an application, whose pod has a token, and none once the object is gone', async () => {
    const orders = application('orders');
    await api.apply(orders);
    await expect.poll(statusOf('orders')).toBe(200);
    expect(claimsOf(tokensOf(await asked('orders')).accessToken)).toMatchObject({ client_id: 'shop.orders' });
    await becomes(orders, 'True Written');
    expect(await api.status(orders)).toMatchObject({
      tenantId: 'acme',
      clientId: 'shop.orders',
      issuer: system.baseUrl,
      observedGeneration: 1,
      lastChange: { people: 0, refreshTokens: 0 },
    });
    await api.remove(orders);
    await becomes(orders, 'gone');
    await expect.poll(statusOf('orders')).toBe(401);
    await written(orders);
    await expect.poll(statusOf('orders')).toBe(200);
    expect(claimsOf(tokensOf(await asked('orders')).accessToken)).toMatchObject({ client_id: 'shop.orders' });
  });

  it('follows each change of an object, and tells of it once', async () => {
    const parcels = application('parcels');
    await written(parcels);
    await api.apply(application('parcels', { status: 'disabled' }));
    await expect.poll(async () => (await api.status(parcels))?.observedGeneration).toBe(2);
    await expect.poll(statusOf('parcels')).toBe(401);
    expect(await api.events(parcels)).toEqual(
      Array<string>(2).fill('Normal Written: The record is as it is declared.'),
    );
  });

  it('says in the words of the API what is wrong, and writes when it is right', async () => {
    const wrong = application('wrong', { scopes: ['stars.read'] });
    await api.apply(wrong);
    await becomes(wrong, 'False Conflict');
    expect(await messageOf(wrong)).toMatch(/^spec\.scopes\[0\]: /);
    await expect
      .poll(() => api.events(wrong))
      .toEqual([expect.stringMatching(/^Warning Conflict: spec\.scopes/)]);
    // An object of the other kind makes it right.
    await written(resource('stars'));
    await becomes(wrong, 'True Written');
  });

  it('writes nothing for a namespace that is of no tenant', async () => {
    const lost = application('lost', {}, 'unmapped');
    await api.apply(lost);
    await becomes(lost, 'False NamespaceNotMapped');
    expect(await messageOf(lost)).toBe('No tenant is that of the namespace unmapped.');
    expect(await statusOf('lost', 'unmapped')()).toBe(401);
    await api.remove(lost);
    await becomes(lost, 'gone');
  });

  it('keeps namespaces apart: identifiers, service accounts, powers, and scopes of APIs', async () => {
    await written(application('first', { clientId: 'first-of-all' }));
    const tokenOfFirst = async () => claimsOf(tokensOf(await asked('first')).accessToken)['client_id'];
    const taking = application('taking', { clientId: 'first-of-all' }, 'stock');
    const acrossTenants = application('across', { clientId: 'first-of-all', scopes: [] }, 'elsewhere');
    const otherAccount = application(
      'account',
      { trusts: [{ issuer: api.issuer, subject: 'system:serviceaccount:shop:first' }] },
      'stock',
    );
    const powerful = application('powerful', { scopes: ['admin.applications.write'] }, 'stock');
    await written(resource('secrets'));
    const reaching = application('reaching', { scopes: ['secrets.read'] }, 'stock');
    for (const [object, condition, message] of [
      [taking, 'False Conflict', /k8s:shop\/first/],
      [acrossTenants, 'False Conflict', /clientId/],
      [otherAccount, 'False NotAllowed', /no service account of the namespace stock/],
      [powerful, 'False', /^Nobody gives what they do not hold/],
      [reaching, 'False NotAllowed', /secrets\.read needs/],
    ] as const) {
      await api.apply(object);
      await becomes(object, condition);
      expect(await messageOf(object)).toMatch(message);
      expect(await statusOf(object.metadata.name, object.metadata.namespace)()).toBe(401);
    }
    expect(await tokenOfFirst()).toBe('first-of-all');
    // The object that was refused does not take the record with it.
    await api.remove(taking);
    await becomes(taking, 'gone');
    expect(await tokenOfFirst()).toBe('first-of-all');
    await written(application('own', { scopes: ['secrets.read'] }));
  });

  it('does not trust the service account of every pod without a word', async () => {
    const shared = application('shared', {
      trusts: [{ issuer: api.issuer, subject: 'system:serviceaccount:shop:default' }],
    });
    await api.apply(shared);
    await becomes(shared, 'False Invalid');
    expect(await messageOf(shared)).toContain('sharedIdentity');
  });

  it('holds the deletion of an API while applications have its scopes', async () => {
    const [ledger, reader] = [resource('ledger'), application('reader', { scopes: ['ledger.read'] })];
    await written(ledger);
    await written(reader);
    await api.remove(ledger);
    await becomes(ledger, 'False Conflict');
    expect(await messageOf(ledger)).toContain('shop.reader');
    await api.remove(reader);
    await becomes(ledger, 'gone');
  });

  it('holds a deletion that ends what people have, until it is confirmed', async () => {
    const { trusts: _, ...spec } = application('site').spec;
    const signsIn = { type: 'public', grantTypes: ['authorization_code', 'refresh_token'] };
    const scopes = ['openid', 'offline_access'];
    const site: Declared = {
      ...application('site'),
      spec: { ...spec, ...signsIn, scopes, redirectUris: [redirectUri] },
    };
    await written(site);
    const code = await codeFor(system.person(), 'shop.site', { scope: scopes.join(' ') });
    const { refreshToken } = tokensOf(await redeem(system.http, code));
    await api.remove(site);
    await becomes(site, 'False DeletionHeld');
    expect(await messageOf(site)).toContain('refresh tokens: 1');
    const annotations = { 'tessera.dev/confirm-deletion': 'true' };
    await api.apply({ ...site, metadata: { ...site.metadata, annotations } });
    await becomes(site, 'gone');
    expect((await refresh(system.http, refreshToken, 'shop.site')).status).not.toBe(200);
  });

  it('keeps what it wrote while the administration is away, and goes on after it', async () => {
    const before = application('before');
    await written(before);
    const known = await api.status(before);
    const standalone = system.processes[0];
    await standalone?.stop();
    const later = application('later');
    await api.apply(later);
    await becomes(later, 'Unknown ServerUnavailable');
    expect(await api.status(before)).toEqual(known);
    await system.restart();
    await becomes(later, 'True Written');
    expect(await statusOf('later')()).toBe(200);
  });

  it('refuses what another cluster declares already, and nothing changes hands', async () => {
    const both = [application('both'), application('both-named', { clientId: 'named-by-both' })];
    for (const object of both) await written(object);
    const west = await controlled.another('west');
    for (const object of both) {
      await west.api.apply(object);
      await expect.poll(async () => conditionOf(west.api, object)).toBe('False Conflict');
      const { conditions = [] } = (await west.api.status(object)) ?? {};
      expect(conditions[0]?.message).toContain(`k8s:shop/${object.metadata.name}`);
      // Events follow the status.
      for (const each of [api, west.api]) await expect.poll(() => each.events(object)).toHaveLength(1);
    }
    const said = async () =>
      Promise.all(
        both.flatMap((object) =>
          [api, west.api].map(async (each) => [await each.status(object), await each.events(object)]),
        ),
      );
    const before = await said();
    for (const cluster of [west, controlled]) {
      // It compares all that there is, and then what is new.
      await cluster.controller.stop();
      await cluster.startController();
      const after = application(cluster === west ? 'only-in-west' : 'after-both');
      await cluster.api.apply(after);
      await expect.poll(async () => conditionOf(cluster.api, after)).toBe('True Written');
    }
    expect(await said()).toEqual(before);
    for (const object of both) {
      await west.api.remove(object);
      await expect.poll(async () => conditionOf(west.api, object)).toBe('gone');
    }
    expect(await statusOf('both')()).toBe(200);
    expect(claimsOf(tokensOf(await asked('both-named')).accessToken)).toMatchObject({
      client_id: 'named-by-both',
    });
  });

  describe(`with ${many} objects`, () => {
    const all = (spec: object = {}) =>
      Array.from({ length: many }, (_, index) => application(`bulk-${index}`, spec, 'bulk'));
    /** How many are written as they are declared at that generation. */
    const countWritten = async (generation: number) =>
      (await api.statuses('bulk')).filter(
        (status) => status.observedGeneration === generation && conditionIn(status) === 'True Written',
      ).length;
    const countGone = async () => many - (await api.statuses('bulk')).length;
    /** Kills the controller each time that it got on, until it was killed so often. */
    async function killedOften(times: number, count: () => Promise<number>): Promise<void> {
      for (let time = 0; time < times; time += 1) {
        const before = await count();
        await expect.poll(count).toBeGreaterThan(Math.min(before, many - 1));
        await controlled.controller.kill();
        await controlled.startController();
      }
    }

    it('writes all at once', async () => {
      await Promise.all(all().map(async (object) => api.apply(object)));
      await expect.poll(() => countWritten(1), whileItGoesOn).toBe(many);
      expect(await statusOf('bulk-0', 'bulk')()).toBe(200);
      expect(await statusOf(`bulk-${many - 1}`, 'bulk')()).toBe(200);
    });

    it(`changes and ends all while it is killed ${kills} times`, async () => {
      await Promise.all(all({ description: 'Another' }).map(async (object) => api.apply(object)));
      await killedOften(kills / 2, () => countWritten(2));
      await expect.poll(() => countWritten(2), whileItGoesOn).toBe(many);
      expect(await statusOf('bulk-0', 'bulk')()).toBe(200);
      await Promise.all(all().map(async (object) => api.remove(object)));
      await killedOften(kills / 2, () => countGone());
      await expect.poll(() => countGone(), whileItGoesOn).toBe(many);
      for (const name of ['bulk-0', `bulk-${many - 1}`]) await expect.poll(statusOf(name, 'bulk')).toBe(401);
    });
  });
});
