import { generateKeyPairSync } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificates, eventually, freePort } from '@tessera/test-kit/provision';
import { parse } from 'yaml';
import {
  kubeConfigFor,
  plurals,
  type Declared,
  type KubernetesApi,
  type Named,
  type ServiceAccount,
  type StatusOfObject,
} from './kubernetes-api.ts';

const chart = join(import.meta.dirname, '../../../../../deploy/helm/tessera');
/** What most clusters call their issuer; of several that declare records at one Tessera, each needs its own. */
const usualIssuer = 'https://kubernetes.default.svc.cluster.local';
const administrator = 'token-of-the-administrator-of-a-cluster-of-tests';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** An answer of the API server. */
interface ApiAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Asking {
  /** Somebody else than the administrator of the cluster. */
  readonly token?: string;
  /** Of the body; JSON unless given. */
  readonly type?: string;
  readonly accept?: string;
}

/** The API server of Kubernetes, with what the chart installs for objects but for the controller itself. */
export interface KubernetesServer extends KubernetesApi {
  ask(method: string, path: string, body?: object, asking?: Asking): Promise<ApiAnswer>;
  /** Applies an object as `kubectl apply --server-side` does; `dryRun` stores nothing. */
  applied(object: Declared, query?: string): Promise<ApiAnswer>;
  /** All that etcd has on its disk, former values included. */
  stored(): Promise<string>;
}

/**
 * Starts etcd and the API server. Nothing else of Kubernetes runs, so nothing makes pods of what is declared.
 * @param programs a folder with `kube-apiserver` and `etcd`
 * @param controller the service account that gets the role of the controller
 * @param issuer what it calls its issuer
 */
export async function startKubernetesServer(
  programs: string,
  controller: ServiceAccount,
  issuer = usualIssuer,
): Promise<KubernetesServer> {
  const processes = await startProcesses(programs, issuer);
  const { folder, port } = processes;
  const authority = await readFile(join(folder, 'ca.crt'), 'utf8');
  const ask = asker(port, authority);
  try {
    await eventually(
      'the API server is ready',
      async () => (await ask('GET', '/api/v1/namespaces/default')).status === 200,
    );
    await install(ask, controller);
    // Tessera asks for keys as somebody who may do nothing else.
    const credentials = join(folder, 'credentials');
    await mkdir(credentials);
    await writeFile(
      join(credentials, 'token'),
      await tokenOf(ask, { namespace: 'tessera', name: 'tessera' }, issuer),
    );
    await writeFile(join(credentials, 'ca.crt'), authority);
    return serverOf({ ask, port, authority, credentials, folder, issuer, stop: processes.stop });
  } catch (cause) {
    await processes.stop();
    throw new Error(`The API server did not start:\n${processes.output().slice(-4000)}`, { cause });
  }
}

async function startProcesses(programs: string, issuer: string) {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-kubernetes-'));
  const file = (name: string) => join(folder, name);
  const { certificates } = await createCertificates(folder, ['kube-apiserver']);
  const keys = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  await writeFile(file('accounts.pub'), keys.publicKey);
  await writeFile(file('accounts.key'), keys.privateKey, { mode: 0o600 });
  await writeFile(file('tokens.csv'), `${administrator},admin,admin,system:masters\n`, { mode: 0o600 });
  const running: ChildProcess[] = [];
  const said: string[] = [];
  const start = (name: string, settings: Readonly<Record<string, string | undefined>>): void => {
    const args = Object.entries(settings).map(([key, value]) => `--${key}=${value}`);
    const child = spawn(join(programs, name), args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => said.push(chunk.toString()));
    child.on('error', (error) => said.push(String(error)));
    running.push(child);
  };
  const [store, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
  start('etcd', {
    'data-dir': file('etcd'),
    'listen-client-urls': store,
    'advertise-client-urls': store,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `default=${peer}`,
  });
  const port = await freePort();
  start('kube-apiserver', {
    'etcd-servers': store,
    'bind-address': '127.0.0.1',
    'secure-port': String(port),
    'tls-cert-file': certificates['kube-apiserver']?.cert,
    'tls-private-key-file': certificates['kube-apiserver']?.key,
    'endpoint-reconciler-type': 'none',
    'service-cluster-ip-range': '10.0.0.0/24',
    'authorization-mode': 'RBAC',
    'token-auth-file': file('tokens.csv'),
    'service-account-issuer': issuer,
    'service-account-key-file': file('accounts.pub'),
    'service-account-signing-key-file': file('accounts.key'),
  });
  async function stop(): Promise<void> {
    for (const child of running.toReversed()) {
      if (child.exitCode !== null || child.pid === undefined) continue;
      const ended = new Promise((done) => child.once('exit', done));
      child.kill('SIGTERM');
      await ended;
    }
    await rm(folder, { recursive: true, force: true });
  }
  return { folder, port, stop, output: () => said.join('') };
}

type Ask = KubernetesServer['ask'];

const asker =
  (port: number, ca: string): Ask =>
  async (
    method,
    path,
    body,
    { token = administrator, type = 'application/json', accept = 'application/json' } = {},
  ) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': type, accept };
      const asking = request({ host: '127.0.0.1', port, method, path, ca, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const body = (text.startsWith('{') ? JSON.parse(text) : {}) as ApiAnswer['body'];
          resolve({ status: response.statusCode ?? 0, body });
        });
      });
      asking.on('error', reject);
      asking.end(body && JSON.stringify(body));
    });

async function made(ask: Ask, path: string, object: object): Promise<void> {
  const { status, body } = await ask('POST', path, object);
  if (status !== 201 && status !== 409) throw new Error(`${path}: ${String(body['message'])}`);
}

async function makeAccount(ask: Ask, { namespace, name }: ServiceAccount): Promise<void> {
  await made(ask, '/api/v1/namespaces', { metadata: { name: namespace } });
  await made(ask, `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
}

/** What a pod of a service account finds in its projected volume. */
async function tokenOf(ask: Ask, account: ServiceAccount, audience: string): Promise<string> {
  await makeAccount(ask, account);
  const { status, body } = await ask(
    'POST',
    `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`,
    { spec: { audiences: [audience], expirationSeconds: 3_600 } },
  );
  if (status !== 201) throw new Error(String(body['message']));
  return (body['status'] as { readonly token: string }).token;
}

/** The definitions and the role of the controller, as the chart has them. */
async function install(ask: Ask, controller: ServiceAccount): Promise<void> {
  const kinds = parse(await readFile(join(chart, 'custom-resources.yaml'), 'utf8')) as readonly object[];
  for (const kind of kinds) await made(ask, definitions, kind);
  const template = await readFile(join(chart, 'templates/controller.yaml'), 'utf8');
  const [, rules = ''] = /^rules:\n((?: {2}- .*\n)+)/m.exec(template) ?? [];
  const group = 'rbac.authorization.k8s.io';
  await makeAccount(ask, controller);
  await made(ask, `/apis/${group}/v1/clusterroles`, {
    metadata: { name: 'controller' },
    rules: parse(rules) as unknown,
  });
  await made(ask, `/apis/${group}/v1/clusterrolebindings`, {
    metadata: { name: 'controller' },
    roleRef: { apiGroup: group, kind: 'ClusterRole', name: 'controller' },
    subjects: [{ kind: 'ServiceAccount', ...controller }],
  });
  for (const plural of Object.values(plurals))
    await eventually(
      `${plural} are served`,
      async () => (await ask('GET', `/apis/tessera.dev/v1alpha1/${plural}`)).status === 200,
    );
}

interface Started {
  readonly ask: Ask;
  readonly port: number;
  readonly authority: string;
  readonly credentials: string;
  readonly folder: string;
  readonly issuer: string;
  readonly stop: () => Promise<void>;
}

function serverOf({ ask, port, authority, credentials, folder, issuer, stop }: Started): KubernetesServer {
  const address = `https://localhost:${port}`;
  const pathOf = ({ kind, metadata: { namespace, name } }: Named) =>
    `/apis/tessera.dev/v1alpha1/namespaces/${namespace}/${plurals[kind]}/${name}`;
  const applied: KubernetesServer['applied'] = async (object, query = '') => {
    await made(ask, '/api/v1/namespaces', { metadata: { name: object.metadata.namespace } });
    const whole = { apiVersion: 'tessera.dev/v1alpha1', ...object };
    const path = `${pathOf(object)}?fieldManager=kubectl&force=true&fieldValidation=Strict${query}`;
    return ask('PATCH', path, whole, { type: 'application/apply-patch+yaml' });
  };
  return {
    ask,
    applied,
    issuer,
    trusting: { TESSERA_KUBERNETES_API: address, TESSERA_KUBERNETES_CREDENTIALS: credentials },
    token: async (account, audience) => tokenOf(ask, account, audience),

    async stored() {
      const etcd = join(folder, 'etcd');
      const files = await readdir(etcd, { recursive: true, withFileTypes: true });
      const texts = files
        .filter((file) => file.isFile())
        .map(async (file) => readFile(join(file.parentPath, file.name), 'latin1'));
      return (await Promise.all(texts)).join('\n');
    },

    async kubeConfig(account) {
      const data = Buffer.from(authority).toString('base64');
      const cluster = { server: address, 'certificate-authority-data': data };
      return kubeConfigFor(cluster, { token: await tokenOf(ask, account, issuer) });
    },

    async apply(object) {
      const { status, body } = await applied(object);
      if (status >= 300) throw new Error(String(body['message']));
    },

    async remove(object) {
      await ask('DELETE', pathOf(object));
    },

    async status(object) {
      const { status, body } = await ask('GET', pathOf(object));
      return status === 404 ? undefined : ((body['status'] ?? {}) as StatusOfObject);
    },

    async statuses(namespace) {
      const { body } = await ask(
        'GET',
        `/apis/tessera.dev/v1alpha1/namespaces/${namespace}/${plurals['TesseraApplication']}`,
      );
      const items = body['items'] as readonly { readonly status?: StatusOfObject }[];
      return items.map(({ status = {} }) => status);
    },

    async events({ metadata: { namespace, name } }) {
      const query = `fieldSelector=involvedObject.name%3D${name}`;
      const { body } = await ask('GET', `/api/v1/namespaces/${namespace}/events?${query}`);
      const items = body['items'] as readonly Readonly<Record<string, string>>[];
      return items.map(({ type, reason, message }) => `${type} ${reason}: ${message}`);
    },

    stop,
  };
}
