import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { claimsOf, entryOf, postToken, tokensOf, type Environment } from '@tessera/test-client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { redirectUri } from '../../harness/declared-names.ts';
import { codeFor, redeem, refresh } from '../../harness/flows.ts';
import {
  conditionOf,
  startKubernetesApi,
  type Declared,
  type KubernetesApi,
} from '../../harness/kubernetes-api.ts';
import { PatientProcess } from '../../harness/patient-process.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const account = { namespace: 'tessera', name: 'tessera-controller' };
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
/** Of the namespaces below, one is of another tenant, and one is of none. */
const namespaces = { shop: 'acme', stock: 'acme', bulk: 'acme', elsewhere: 'globex' };

const [many, kills] = [200, 20];

const application = (name: string, spec: object = {}, namespace = 'shop'): Declared => ({
  kind: 'TesseraApplication',
  metadata: { namespace, name },
  spec: {
    name: `The service ${name}`,
    type: 'confidential',
    grantTypes: ['client_credentials'],
    scopes: ['goods.read'],
    trusts: [{ serviceAccount: name }],
    ...spec,
  },
});
const resource = (name: string, spec: object = {}, namespace = 'shop'): Declared => ({
  kind: 'TesseraResource',
  metadata: { namespace, name },
  spec: {
    audience: `https://${name}.${namespace}.example`,
    name: `The API ${name}`,
    scopes: [{ name: `${name}.read` }],
    ...spec,
  },
});

describe('the controller of a cluster', () => {
  let system: System;
  let api: KubernetesApi;
  let controller: PatientProcess;
  let directory: string;
  let settings: Environment;
  let readyUrl: string;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-controller-'));
    api = await startKubernetesApi();
    const stores = { databaseUrl: await newDatabaseUrl(), redisUrl: redisUrl() };
    system = await startSystem(setUps.compact, { stores, environment: api.trusting });
    const administers = {
      clientId: 'acme-controller',
      name: 'Controller',
      type: 'confidential',
      grantTypes: ['client_credentials'],
      scopes: ['admin.applications.write', 'admin.resources.write', 'admin.tenants.read'],
      owners: [...Object.keys(namespaces), 'unmapped'].map((namespace) => `k8s:${namespace}/*`),
      trusts: [{ issuer: api.issuer, subject: `system:serviceaccount:${account.namespace}:${account.name}` }],
    };
    await system.apply({ workloads: [administers] });
    const files = { token: join(directory, 'token'), kubeConfig: join(directory, 'config') };
    await writeFile(files.token, await api.token(account, system.baseUrl));
    await writeFile(files.kubeConfig, JSON.stringify(await api.kubeConfig(account)));
    const { TESSERA_ADMIN_PORT: port } = system.environmentOf('standalone');
    const managementPort = String(await freePort());
    settings = {
      KUBECONFIG: files.kubeConfig,
      TESSERA_API: `http://127.0.0.1:${port}`,
      TESSERA_ISSUER: system.baseUrl,
      TESSERA_CLIENT_ASSERTION_FILE: files.token,
      TESSERA_CONTROLLER_NAMESPACES: Object.entries(namespaces)
        .map((pair) => pair.join('='))
        .join(','),
      TESSERA_CONTROLLER_DELETION_LIMIT: '0',
      TESSERA_MANAGEMENT_PORT: managementPort,
    };
    readyUrl = `http://127.0.0.1:${managementPort}/readyz`;
    controller = new PatientProcess('controller', entryOf('controller'));
    controller.start(settings);
    await controller.ready(readyUrl);
    const goods = resource('goods', { assignableBy: ['tenant'] });
    await api.apply(goods);
    await eventually(
      'the API of all is declared',
      async () => (await conditionOf(api, goods)) === 'True Written',
    );
  });
  afterAll(async () => {
    await controller?.stop();
    await system?.stop();
    await api?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  /** What `/token` answers to a pod with that service account. */
  const asked = async (name: string, namespace = 'shop') =>
    postToken(system.http, 'standard', {
      grantType: 'client_credentials',
      clientAssertion: await api.token({ namespace, name }, system.baseUrl),
      clientAssertionType: assertionType,
    });
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

  it(`writes ${many} objects at once, killed ${kills} times meanwhile, and ends them`, async () => {
    onTestFinished(() => {
      if (!controller.running) controller.start(settings);
    });
    const all = Array.from({ length: many }, (_, index) => application(`bulk-${index}`, {}, 'bulk'));
    await Promise.all(all.map(async (object) => api.apply(object)));
    for (let time = 0; time < kills; time += 1) {
      const done = async () =>
        (await Promise.all(all.map(async (object) => conditionOf(api, object)))).filter(
          (said) => said === 'True Written',
        ).length;
      const before = await done();
      await expect.poll(done).toBeGreaterThan(Math.min(before, all.length - 1));
      await controller.kill();
      controller.start(settings);
    }
    for (const object of all) await becomes(object, 'True Written');
    expect(await statusOf('bulk-0', 'bulk')()).toBe(200);
    expect(await statusOf('bulk-1', 'bulk')()).toBe(200);
    await Promise.all(all.map(async (object) => api.remove(object)));
    for (const object of all) await becomes(object, 'gone');
    await expect.poll(statusOf('bulk-0', 'bulk')).toBe(401);
    expect(await statusOf('bulk-1', 'bulk')()).toBe(401);
  });
});
