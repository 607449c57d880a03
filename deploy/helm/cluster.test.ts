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
  type Owner = 'Helm 3' | 'Helm' | 'the autoscaler' | 'kubectl';
  /** Managed fields as the API server keeps them: who wrote the number of replicas. */
  const managed = (owner: Owner, owns = true) => ({
    manager:
      { 'the autoscaler': 'kube-controller-manager', kubectl: 'kubectl' }[owner as 'kubectl'] ?? 'helm',
    operation: owner === 'Helm' ? 'Apply' : 'Update',
    ...(owner.startsWith('Helm') ? {} : { subresource: 'scale' }),
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': owns ? { 'f:replicas': {} } : { 'f:template': {} } },
  });
  const live = (replicas: number, ...managedFields: readonly object[]): LiveObject[] => [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'release-tessera-gateway', managedFields },
      spec: { replicas },
    },
  ];
  const autoscaled = { autoscaling: { enabled: true, minReplicas: 3, maxReplicas: 20 } };
  const rendered = async (gateway: Values, objects: readonly LiveObject[]) => {
    const manifests = await renderInCluster({ ...least, gateway }, objects);
    const specOf = (wanted: string) =>
      manifests.find(({ kind, metadata }) => kind === wanted && metadata.name === 'release-tessera-gateway')
        ?.spec;
    const { minReplicas, maxReplicas } = specOf('HorizontalPodAutoscaler') ?? {};
    return { replicas: specOf('Deployment')?.replicas, minReplicas, maxReplicas };
  };
  const limits = { minReplicas: 3, maxReplicas: 20 };
  const helm = managed('Helm', false);

  test('leaves the number to the autoscaler that wrote it, so that a rollback has no number to conflict over', async () => {
    const objects = live(8, helm, managed('the autoscaler'));
    expect(await rendered(autoscaled, objects)).toEqual({ replicas: undefined, ...limits });
    const shared = live(8, managed('Helm'), managed('the autoscaler'));
    expect(await rendered(autoscaled, shared)).toEqual({ replicas: undefined, ...limits });
  });

  test('leaves the number to the autoscaler where Helm sees no Deployment or never wrote a number', async () => {
    expect(await rendered(autoscaled, [])).toEqual({ replicas: undefined, ...limits });
    expect(await rendered(autoscaled, live(1, helm))).toEqual({ replicas: undefined, ...limits });
  });

  test('keeps the replicas that it has while Helm alone wrote them, as the API server takes none for one', async () => {
    expect(await rendered(autoscaled, live(8, managed('Helm')))).toEqual({ replicas: 8, ...limits });
    expect(await rendered(autoscaled, live(2, managed('Helm')))).toEqual({ replicas: 2, ...limits });
  });

  test('keeps the replicas that it has under Helm 3, which would remove a number that it once wrote', async () => {
    const objects = live(8, managed('Helm 3', false), managed('the autoscaler'));
    expect(await rendered(autoscaled, objects)).toEqual({ replicas: 8, ...limits });
  });

  test('has the declared number once autoscaling is off', async () => {
    const expected = { replicas: 4, minReplicas: undefined, maxReplicas: undefined };
    const owners = [managed('Helm'), managed('kubectl'), managed('Helm 3')];
    for (const owner of owners) expect(await rendered({ replicas: 4 }, live(8, owner))).toEqual(expected);
    const reached = live(4, helm, managed('the autoscaler'));
    expect(await rendered({ replicas: 4 }, reached)).toEqual(expected);
  });

  test('is brought to the declared number by an autoscaler with no choice, where Helm would conflict with the last one', async () => {
    const objects = live(8, helm, managed('the autoscaler'));
    const expected = { replicas: undefined, minReplicas: 4, maxReplicas: 4 };
    expect(await rendered({ replicas: 4 }, objects)).toEqual(expected);
    const elsewhere = live(8, helm, { ...managed('the autoscaler'), manager: 'k3s' });
    expect(await rendered({ replicas: 4 }, elsewhere)).toEqual(expected);
  });
});
