import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import { applicationObject, entryOf, postToken, type Answer, type Environment } from '@tessera/test-client';
import {
  conditionOf,
  startKubernetesApi,
  type Declared,
  type KubernetesApi,
  type ServiceAccount,
} from './kubernetes-api.ts';
import { startKubernetesServer, type KubernetesServer } from './kubernetes-server.ts';
import { PatientProcess } from '../patient-process.ts';
import { setUps, type System } from '../set-up.ts';
import { startSystem } from '../start.ts';

/** A folder with the programs `kube-apiserver` and `etcd`. Absent: a server of tests stands for them. */
const kubernetesPrograms = process.env['TESSERA_TEST_KUBERNETES'];

/** As whom the controller calls the API server, and Tessera. */
export const controllerAccount = { namespace: 'tessera', name: 'tessera-controller' };

/** Of these namespaces one is of another tenant; others are of none. */
const namespaces = { shop: 'acme', stock: 'acme', bulk: 'acme', elsewhere: 'globex' };

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** The API server of a cluster, and the controller there. */
interface Cluster<Api extends KubernetesApi = KubernetesApi> {
  readonly api: Api;
  readonly controller: PatientProcess;
  startController(): Promise<void>;
  stop(): Promise<void>;
}

export interface Controlled<Api extends KubernetesApi = KubernetesApi> extends Cluster<Api> {
  readonly system: System;
  /** Another cluster whose controller declares records at the same Tessera, by a name of its own. */
  another(name: string): Promise<Cluster>;
  /** What `/token` answers to a pod with that service account. */
  asked(account: ServiceAccount, audience?: string): Promise<Answer>;
}

/** An application of the namespace `shop`, with a trust in the service account of its name. */
export const application = (name: string, spec: object = {}, namespace = 'shop'): Declared => ({
  ...applicationObject(name, spec),
  metadata: { namespace, name },
});

export const resource = (name: string, spec: object = {}, namespace = 'shop'): Declared => ({
  kind: 'TesseraResource',
  metadata: { namespace, name },
  spec: {
    audience: `https://${name}.${namespace}.example`,
    name: `The API ${name}`,
    scopes: [{ name: `${name}.read` }],
    ...spec,
  },
});

const administers = (clientId: string, begins: string, issuer: string, account: ServiceAccount) => ({
  clientId,
  name: 'Controller',
  type: 'confidential',
  grantTypes: ['client_credentials'],
  scopes: ['admin.applications.write', 'admin.resources.write', 'admin.tenants.read'],
  owners: [...Object.keys(namespaces), 'unmapped'].map((namespace) => `k8s:${begins}${namespace}/*`),
  trusts: [{ issuer, subject: `system:serviceaccount:${account.namespace}:${account.name}` }],
});

/** Starts the programs of a cluster if there are any, or what stands for them. */
const startApi = async (issuer?: string) =>
  kubernetesPrograms === undefined
    ? startKubernetesApi()
    : startKubernetesServer(kubernetesPrograms, controllerAccount, issuer);

/** Starts Tessera, and a cluster with the controller and the API `goods`, whose scope every application may have. */
export async function startControlled(): Promise<Controlled> {
  return controlled(await startApi());
}

/** The same with the programs of Kubernetes. */
export async function startControlledKubernetes(): Promise<Controlled<KubernetesServer>> {
  if (kubernetesPrograms === undefined) throw new Error('TESSERA_TEST_KUBERNETES names no folder');
  return controlled(await startKubernetesServer(kubernetesPrograms, controllerAccount));
}

async function controlled<Api extends KubernetesApi>(api: Api): Promise<Controlled<Api>> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-controller-'));
  const stores = { databaseUrl: await newDatabaseUrl(), redisUrl: redisUrl() };
  const system = await startSystem(setUps.compact, { stores, environment: api.trusting });
  const own = administers('acme-controller', '', api.issuer, controllerAccount);
  await system.apply({ workloads: [own] });
  const token = async () => api.token(controllerAccount, system.baseUrl);
  const first = await clusterOf(api, system, join(directory, 'first'), await token());
  await first.startController();
  const goods = resource('goods', { assignableBy: ['tenant'] });
  await api.apply(goods);
  await eventually(
    'the API of all is declared',
    async () => (await conditionOf(api, goods)) === 'True Written',
  );
  const others: Cluster[] = [];
  return {
    ...first,
    system,

    async another(name) {
      const account = { namespace: name, name: 'controller' };
      await system.apply({ workloads: [own, administers(`acme-${name}`, `${name}:`, api.issuer, account)] });
      const assertion = await api.token(account, system.baseUrl);
      const cluster = await clusterOf(
        await startApi(`https://${name}.example`),
        system,
        join(directory, name),
        assertion,
        {
          TESSERA_CONTROLLER_CLUSTER: name,
        },
      );
      others.push(cluster);
      await cluster.startController();
      return cluster;
    },

    asked: async (account, audience = system.baseUrl) =>
      postToken(system.http, 'standard', {
        grantType: 'client_credentials',
        clientAssertion: await api.token(account, audience),
        clientAssertionType: assertionType,
      }),

    async stop() {
      for (const each of [...others, first]) await each.stop();
      await system.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function clusterOf<Api extends KubernetesApi>(
  api: Api,
  system: System,
  path: string,
  assertion: string,
  more: Environment = {},
): Promise<Cluster<Api>> {
  const files = { token: `${path}.token`, kubeConfig: `${path}.config` };
  await writeFile(files.token, assertion);
  await writeFile(files.kubeConfig, JSON.stringify(await api.kubeConfig(controllerAccount)));
  const managementPort = String(await freePort());
  const settings = {
    KUBECONFIG: files.kubeConfig,
    TESSERA_API: `http://127.0.0.1:${system.environmentOf('standalone')['TESSERA_ADMIN_PORT']}`,
    TESSERA_ISSUER: system.baseUrl,
    TESSERA_CLIENT_ASSERTION_FILE: files.token,
    TESSERA_CONTROLLER_NAMESPACES: Object.entries(namespaces)
      .map((pair) => pair.join('='))
      .join(','),
    TESSERA_CONTROLLER_DELETION_LIMIT: '0',
    TESSERA_MANAGEMENT_PORT: managementPort,
    ...more,
  };
  const controller = new PatientProcess('controller', entryOf('controller'));
  return {
    api,
    controller,
    async startController() {
      controller.start(settings);
      await controller.ready(`http://127.0.0.1:${managementPort}/readyz`);
    },
    async stop() {
      await controller.stop();
      await api.stop();
    },
  };
}
