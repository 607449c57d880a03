import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { chartDirectory, manifestsOf, type Values } from './chart.ts';
import type { Manifest } from './manifest.ts';

/** An object of the namespace `id`, as the cluster holds it. */
export interface LiveObject {
  readonly apiVersion: 'v1' | 'apps/v1';
  readonly kind: 'Secret' | 'ConfigMap' | 'Deployment';
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly managedFields?: readonly object[];
  };
  readonly data?: object;
  readonly spec?: object;
}

const resources = ['Secret', 'ConfigMap', 'Deployment'].map((kind) => ({
  name: `${kind.toLowerCase()}s`,
  kind,
  namespaced: true,
  singularName: '',
  verbs: ['get', 'list'],
}));
const apps = { groupVersion: 'apps/v1', version: 'v1' };
const resourceList = { kind: 'APIResourceList', apiVersion: 'v1', resources };

/** What an API server says about itself. */
const discovery: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '34', gitVersion: 'v1.34.0' },
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: [{ name: 'apps', versions: [apps], preferredVersion: apps }],
  },
  '/api/v1': { ...resourceList, groupVersion: 'v1' },
  '/apis/apps/v1': { ...resourceList, groupVersion: 'apps/v1' },
};

function pathOf({ apiVersion, kind, metadata }: LiveObject): string {
  const api = apiVersion === 'v1' ? 'api' : 'apis';
  return `/${api}/${apiVersion}/namespaces/id/${kind.toLowerCase()}s/${metadata.name}`;
}

/** Renders as `helm upgrade` does, with a cluster to look into that holds these objects. */
export async function renderInCluster(values: Values, objects: readonly LiveObject[]): Promise<Manifest[]> {
  const found = Object.fromEntries(objects.map((each) => [pathOf(each), each]));
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://cluster');
    const answer = discovery[pathname] ?? found[pathname];
    const missing = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? missing));
  });
  try {
    return manifestsOf(await helmAt(await listen(server), values));
  } finally {
    server.close();
  }
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}

async function helmAt(cluster: string, values: Values): Promise<string> {
  const options = ['--namespace', 'id', '--kube-version', '1.34.0', '--dry-run=server', '--values', '-'];
  const running = promisify(execFile)(
    process.env['TESSERA_TEST_HELM'] ?? 'helm',
    ['template', 'release', chartDirectory, ...options],
    // No configuration of the person who runs the test.
    { env: { ...process.env, KUBECONFIG: '/dev/null', HELM_KUBEAPISERVER: cluster, HELM_KUBETOKEN: 'test' } },
  );
  running.child.stdin?.end(stringify(values));
  return (await running).stdout;
}
