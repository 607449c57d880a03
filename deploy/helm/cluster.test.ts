import { describe, expect, test } from 'vitest';
import { least, type Values } from './chart.ts';
import { renderInCluster, type LiveObject } from './cluster.ts';

/** The name of the Job that applies the state; another name means that `helm upgrade` runs it again. */
async function applyJob(values: Values, objects: readonly LiveObject[]): Promise<string | undefined> {
  const manifests = await renderInCluster({ ...least, ...values }, objects);
  return manifests.find(({ kind, metadata }) => kind === 'Job' && metadata.name.includes('-apply-'))?.metadata
    .name;
}

const secret = (content: string, uid = 'one'): LiveObject[] => [
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'acme-clients', uid },
    data: { desk: Buffer.from(content).toString('base64') },
  },
];
const state = { tenants: [{ id: 'acme', name: 'Acme' }], secrets: ['acme-clients'] };

describe('The Job that applies the declared state', () => {
  test('runs again at helm upgrade when a Secret of state.secrets changed, so that a leaked secret ends', async () => {
    const before = await applyJob({ state }, secret('leaked'));
    expect(before).toBeDefined();
    expect(await applyJob({ state }, secret('leaked'))).toBe(before);
    expect(await applyJob({ state }, secret('new'))).not.toBe(before);
  });

  test('runs again when the ConfigMap of state.existingConfigMap changed', async () => {
    const values = { state: { existingConfigMap: 'tenants' } };
    const config = (text: string): LiveObject[] => [
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'tenants', uid: 'one' },
        data: { 'tessera.yaml': text },
      },
    ];
    expect(await applyJob(values, config('tenants: []'))).not.toBe(
      await applyJob(values, config('tenants:')),
    );
  });

  test('has a name from which the content of a Secret cannot be guessed', async () => {
    const one = await applyJob({ state }, secret('weak', 'one'));
    expect(await applyJob({ state }, secret('weak', 'two'))).not.toBe(one);
  });

  test('needs neither the Secrets nor, with state.checksum false, the right to read them', async () => {
    const before = await applyJob({ state }, []);
    expect(before).toBeDefined();
    const values = { state: { ...state, checksum: false } };
    expect(await applyJob(values, secret('leaked'))).toBe(await applyJob(values, secret('new')));
  });
});

describe('A Deployment with autoscaling', () => {
  const live = (replicas: number): LiveObject[] => [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'release-tessera-gateway' },
      spec: { replicas },
    },
  ];
  const gateway = { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 20 } };
  const replicas = async (values: Values, objects: readonly LiveObject[]) => {
    const manifests = await renderInCluster({ ...least, ...values }, objects);
    const found = manifests.find(
      ({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'release-tessera-gateway',
    );
    return found?.spec.replicas;
  };

  test('keeps the replicas that it has, as the API server takes none for one', async () => {
    expect(await replicas({ gateway }, live(8))).toBe(8);
  });

  test('has no fewer than autoscaling allows', async () => {
    expect(await replicas({ gateway }, live(2))).toBe(3);
  });

  test('leaves the number to the autoscaler where Helm sees no Deployment', async () => {
    expect(await replicas({ gateway }, [])).toBeUndefined();
  });

  test('has the declared number once autoscaling is off', async () => {
    expect(await replicas({ gateway: { replicas: 4 } }, live(8))).toBe(4);
  });
});
