import { Code, ConnectError, create, DiffDeclaredStateResponseSchema } from '@tessera/admin-client';
import { silentLog } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import type { Declaration } from '../administration/administration-api.ts';
import type { Told } from '../cluster/cluster.ts';
import { finalizer, keyOf, type Status, type TesseraObject } from '../objects.ts';
import { reconcile, type ReconcileDeps } from './reconcile.ts';

const stored = (over: { metadata?: object; status?: Status } = {}): TesseraObject => ({
  apiVersion: 'tessera.dev/v1alpha1',
  kind: 'TesseraApplication',
  metadata: {
    namespace: 'shop',
    name: 'orders',
    uid: 'u',
    resourceVersion: '1',
    generation: 1,
    ...over.metadata,
  },
  spec: { name: 'Orders' },
  ...(over.status && { status: over.status }),
});

/** A cluster with one object, and an administration that answers what a test says. */
function world(object: TesseraObject, tenants: Readonly<Record<string, string>> = { shop: 'acme' }) {
  const state = { object, told: [] as Told[], applied: [] as Declaration[] };
  const answers = {
    compare: async () =>
      create(DiffDeclaredStateResponseSchema, { differences: [{ kind: 'application' }], etag: 'e' }),
    tell: async (told: Told) => void state.told.push(told),
  };
  const deps: ReconcileDeps = {
    cluster: {
      read: async () => state.object,
      list: async () => [],
      async patch(known, part, change) {
        const next = { metadata: { ...known.metadata, ...(part === 'metadata' && change) } };
        const status = { ...known.status, ...(part === 'status' && change) };
        state.object = { ...known, ...next, status };
        return state.object;
      },
      tell: async (_object, told) => answers.tell(told),
      issuer: async () => 'https://cluster.example',
      follow: () => ({ stop: async () => undefined }),
    },
    administration: {
      compare: async () => answers.compare(),
      apply: async (declaration) => void state.applied.push(declaration),
      issuerOf: async () => 'https://id.example',
    },
    tenants: new Map(Object.entries(tenants)),
    deletionLimit: 10,
    surroundings: { cluster: undefined, trustedIssuers: [] },
    log: silentLog(),
    warnings: { warn: () => true },
    changed: () => undefined,
  };
  const ready = () => state.object.status?.conditions?.find(({ type }) => type === 'Ready');
  return { state, answers, ready, run: async () => reconcile(deps, keyOf(object)) };
}
const going = { deletionTimestamp: '2030-01-31T12:00:00Z', finalizers: ['other', finalizer] };

describe('an object', () => {
  it('is held back, and says where its record is, before that is written', async () => {
    const { state, answers, run } = world(stored());
    answers.compare = async () => {
      expect(state.object.metadata.finalizers).toEqual([finalizer]);
      expect(state.object.status).toMatchObject({ tenantId: 'acme' });
      throw new ConnectError('later', Code.Unavailable);
    };
    expect(await run()).toBe('failed');
    expect(state.applied).toEqual([]);
  });

  it('whose namespace got another tenant keeps its record, and says so', async () => {
    const { state, ready, run } = world(stored({ status: { tenantId: 'acme' } }), { shop: 'globex' });
    expect(await run()).toBe('refused');
    expect(ready()).toMatchObject({ status: 'False', reason: 'TenantChanged' });
    expect(state.applied).toEqual([]);
  });

  it('is let go when its record is gone, although nobody can be told', async () => {
    const { state, answers, run } = world(stored({ metadata: going, status: { tenantId: 'acme' } }));
    answers.tell = async () => {
      throw new Error('the namespace is being terminated');
    };
    expect(await run()).toBe('done');
    expect(state.applied).toEqual([
      { kind: 'TesseraApplication', tenantId: 'acme', owner: 'k8s:shop/orders' },
    ]);
    expect(state.object.metadata.finalizers).toEqual(['other']);
  });

  it('is not let go while its record cannot be reached, or its namespace is of no tenant', async () => {
    for (const tenants of [{ shop: 'acme' }, {}] as const) {
      const { state, answers, run } = world(
        stored({ metadata: going, status: { tenantId: 'acme' } }),
        tenants,
      );
      answers.compare = async () => {
        throw new ConnectError('later', Code.Unavailable);
      };
      expect(await run()).not.toBe('done');
      expect(state.object.metadata.finalizers).toContain(finalizer);
    }
  });

  it('that is as it was is neither patched nor told of', async () => {
    const { state, answers, run } = world(stored());
    await run();
    const [{ object }, told] = [state, state.told.length];
    answers.compare = async () => create(DiffDeclaredStateResponseSchema, {});
    expect(await run()).toBe('done');
    expect(state.object).toBe(object);
    expect(state.told).toHaveLength(told);
  });

  it('that another process changed meanwhile is tried again, without a word', async () => {
    const { state, answers, run, ready } = world(stored());
    answers.compare = async () => {
      throw new ConnectError('changed', Code.Aborted);
    };
    expect(await run()).toBe('failed');
    expect([ready(), state.told]).toEqual([undefined, []]);
  });
});
