/** What only the API server of Kubernetes knows: TESSERA_TEST_KUBERNETES names a folder with it (CONTRIBUTING.md). */
import { claimsOf, tokensOf } from '@tessera/test-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  application,
  controllerAccount,
  resource,
  startControlledKubernetes,
  type Controlled,
} from '../../harness/kubernetes/controlled-cluster.ts';
import { conditionOf, plurals, type Declared } from '../../harness/kubernetes/kubernetes-api.ts';
import type { KubernetesServer } from '../../harness/kubernetes/kubernetes-server.ts';

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const dryRun = '&dryRun=All';
const own = 'https://orders.example/keys';

describe('objects in Kubernetes', () => {
  let controlled: Controlled<KubernetesServer>;
  let api: KubernetesServer;

  beforeAll(async () => {
    controlled = await startControlledKubernetes();
    ({ api } = controlled);
  });
  afterAll(async () => controlled?.stop());

  async function written(object: Declared): Promise<void> {
    await api.apply(object);
    await expect.poll(async () => conditionOf(api, object)).toBe('True Written');
  }

  it.each(Object.values(plurals))('have a definition that is accepted whole: %s', async (plural) => {
    const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.tessera.dev`;
    const { body } = await api.ask('GET', path);
    const { conditions } = body['status'] as {
      readonly conditions: readonly { readonly type: string; readonly status: string }[];
    };
    expect(conditions.map(({ type, status }) => `${type} ${status}`).toSorted()).toEqual([
      'Established True',
      'NamesAccepted True',
    ]);
  });

  it.each([
    ['proves nothing', { trusts: undefined }, 'a confidential application proves who it is by trusts, '],
    ['is public', { type: 'public' }, 'client_credentials is for confidential applications'],
    ['trusts every pod', { trusts: [{ serviceAccount: 'default' }] }, 'needs sharedIdentity: true'],
    [
      'trusts two at once',
      { trusts: [{ serviceAccount: 'a', issuer: own, subject: 'b' }] },
      'a trust has a serviceAccount, or issuer and subject',
    ],
    ['trusts nobody', { trusts: [{ audience: own }] }, 'a trust has a serviceAccount, or issuer and subject'],
    ['has a secret', { secrets: [{ value: 'of-nobody' }] }, '.spec.secrets: field not declared in schema'],
    ['owns others', { owners: ['*'] }, '.spec.owners: field not declared in schema'],
    ['has a private key', { publicKeys: [{ kty: 'EC', d: 'x' }] }, '.d: field not declared in schema'],
    ['asks for a password', { grantTypes: ['password'] }, 'Unsupported value: "password"'],
    ['lives for no time', { lifetimes: { accessToken: 0 } }, 'should be greater than or equal to 1'],
    ['lives for a word', { lifetimes: { accessToken: 'ten' } }, 'should match'],
    ['is called a space', { clientId: ' x' }, 'should match'],
    ['has no name', { name: undefined }, 'Required value'],
  ])('are refused before they are stored: one that %s', async (_what, spec, message) => {
    const { status, body } = await api.applied(application('wrong', spec), dryRun);
    expect([status >= 400, body['message']]).toEqual([true, expect.stringContaining(message)]);
  });

  it('keep what they are called, in the record and in their own name', async () => {
    const orders = application('kept', { clientId: 'kept-as-it-is' });
    await written(orders);
    await written(resource('kept'));
    for (const [object, message] of [
      [application('kept', { clientId: 'another' }), 'clientId stays as it is'],
      [application('kept'), 'clientId stays as it is'],
      [resource('kept', { audience: own }), 'audience stays as it is'],
      [application('x'.repeat(61)), 'the name has at most 60 characters'],
    ] as const) {
      const { status, body } = await api.applied(object, dryRun);
      expect([status, body['message']]).toEqual([422, expect.stringContaining(message)]);
    }
    const { status } = await api.applied({ ...orders, spec: { ...orders.spec, name: 'Kept' } }, dryRun);
    expect(status).toBe(200);
  });

  it('are explained, each field of them', async () => {
    const { body } = await api.ask('GET', '/openapi/v3/apis/tessera.dev/v1alpha1');
    const { schemas } = body['components'] as { readonly schemas: Readonly<Record<string, Schema>> };
    const silent: string[] = [];
    function look(schema: Schema, path: string): void {
      for (const [name, part] of Object.entries(schema.properties ?? schema.items?.properties ?? {})) {
        if (part.description === undefined) silent.push(`${path}.${name}`);
        look(part, `${path}.${name}`);
      }
    }
    for (const kind of Object.keys(plurals)) {
      const { properties, description } = schemas[`dev.tessera.v1alpha1.${kind}`] ?? {};
      expect(description).toContain('of the tenant of this namespace');
      look({ properties: { spec: properties?.['spec'] ?? {} } }, kind);
      look({ properties: { status: properties?.['status'] ?? {} } }, kind);
    }
    expect(silent).toEqual([]);
  });

  it('are all that the controller may touch, and it makes no Secret', async () => {
    const token = await api.token(controllerAccount, api.issuer);
    const shop = '/apis/tessera.dev/v1alpha1/namespaces/shop';
    await written(application('touched'));
    const allowed = [
      ['GET', '/apis/tessera.dev/v1alpha1/tesseraapplications'],
      ['GET', `${shop}/tesseraapplications/touched`],
    ] as const;
    const denied = [
      ['GET', '/api/v1/secrets'],
      ['GET', '/api/v1/namespaces/shop/secrets'],
      ['POST', '/api/v1/namespaces/shop/secrets'],
      ['GET', '/api/v1/configmaps'],
      ['GET', '/api/v1/pods'],
      ['GET', '/api/v1/namespaces'],
      ['GET', '/api/v1/events'],
      ['POST', '/api/v1/namespaces/shop/serviceaccounts/orders/token'],
      ['POST', `${shop}/tesseraapplications`],
      ['PUT', `${shop}/tesseraapplications/touched`],
      ['DELETE', `${shop}/tesseraapplications/touched`],
      ['PUT', `${shop}/tesseraapplications/touched/status`],
      ['GET', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'],
      ['GET', '/apis/rbac.authorization.k8s.io/v1/clusterroles'],
    ] as const;
    const answersTo = async (requests: readonly (readonly [string, string])[]) =>
      Promise.all(
        requests.map(async ([method, path]) => {
          const body = method === 'GET' || method === 'DELETE' ? undefined : {};
          return [method, path, (await api.ask(method, path, body, { token })).status];
        }),
      );
    expect(await answersTo(allowed)).toEqual(allowed.map((request) => [...request, 200]));
    expect(await answersTo(denied)).toEqual(denied.map((request) => [...request, 403]));
    expect((await api.ask('GET', '/api/v1/secrets')).body['items']).toEqual([]);
  });

  it('give a pod a token by that of its service account, for the audience that Tessera has', async () => {
    const pod = application('pod');
    const account = { namespace: 'shop', name: 'pod' };
    await api.apply(pod);
    await expect.poll(async () => (await controlled.asked(account)).status, { timeout: 10_000 }).toBe(200);
    const { accessToken } = tokensOf(await controlled.asked(account));
    expect(claimsOf(accessToken)).toMatchObject({ sub: 'shop.pod', client_id: 'shop.pod' });
    for (const [who, audience] of [
      [account, api.issuer],
      [account, own],
      [{ ...account, name: 'another' }, undefined],
      [{ ...account, namespace: 'stock' }, undefined],
    ] as const)
      expect((await controlled.asked(who, audience)).status).toBe(401);
  });

  it('leave no token in etcd, where one that is planted is found', async () => {
    const account = { namespace: 'shop', name: 'stored' };
    await written(application('stored'));
    await expect.poll(async () => (await controlled.asked(account)).status).toBe(200);
    const { accessToken } = tokensOf(await controlled.asked(account));
    const before = await api.stored();
    expect(before).toContain('The service stored');
    expect(before).not.toMatch(/\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|\btr_[\w-]{16,}/);
    const secrets = '/api/v1/namespaces/shop/secrets';
    const planted = { metadata: { name: 'planted' }, stringData: { token: accessToken } };
    expect((await api.ask('POST', secrets, planted)).status).toBe(201);
    // Not the whole text as a message.
    await expect.poll(async () => (await api.stored()).includes(accessToken)).toBe(true);
    await api.ask('DELETE', `${secrets}/planted`);
  });

  it('trust the service account of every pod where they say so', async () => {
    const shared = application('shared', { trusts: [{ serviceAccount: 'default', sharedIdentity: true }] });
    await written(shared);
    expect((await controlled.asked({ namespace: 'shop', name: 'default' })).status).toBe(200);
  });

  it('tell what became of them as events of Kubernetes, and in columns', async () => {
    const told = application('told');
    await written(told);
    await expect.poll(() => api.events(told)).toEqual(['Normal Written: The record is as it is declared.']);
    const { body } = await api.ask(
      'GET',
      '/apis/tessera.dev/v1alpha1/namespaces/shop/tesseraapplications/told',
      undefined,
      { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    );
    const [row] = body['rows'] as readonly { readonly cells: readonly unknown[] }[];
    expect(row?.cells.slice(0, 5)).toEqual(['told', 'shop.told', 'acme', 'True', 'Written']);
  });
});
