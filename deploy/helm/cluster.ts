import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { chartDirectory, manifestsOf, type Manifest, type Values } from './chart.ts';

/** Objects of the namespace `id` by path, such as `secrets/tessera`. */
export type Objects = Readonly<Record<string, { readonly uid: string; readonly data: object }>>;

const resources = ['secrets/Secret', 'configmaps/ConfigMap'].map((each) => {
  const [name, kind] = each.split('/');
  return { name, kind, namespaced: true, singularName: '', verbs: ['get', 'list'] };
});

/** What an API server answers about itself and about these objects; 404 for all others. */
function answerOf(path: string, objects: Objects): object | undefined {
  if (path === '/version') return { major: '1', minor: '34', gitVersion: 'v1.34.0' };
  if (path === '/api') return { kind: 'APIVersions', versions: ['v1'] };
  if (path === '/apis') return { kind: 'APIGroupList', apiVersion: 'v1', groups: [] };
  if (path === '/api/v1') return { kind: 'APIResourceList', groupVersion: 'v1', resources };
  const [, plural = '', name = ''] = /^\/api\/v1\/namespaces\/id\/(\w+)\/([\w-]+)$/.exec(path) ?? [];
  const found = objects[`${plural}/${name}`];
  if (found === undefined) return undefined;
  const kind = plural === 'secrets' ? 'Secret' : 'ConfigMap';
  return { apiVersion: 'v1', kind, metadata: { name, namespace: 'id', uid: found.uid }, data: found.data };
}

/** Renders as `helm upgrade` does, with a cluster to look into that holds these objects. */
export async function renderInCluster(values: Values, objects: Objects): Promise<Manifest[]> {
  const server = createServer((request, response) => {
    const answer = answerOf(new URL(request.url ?? '', 'http://cluster').pathname, objects);
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
