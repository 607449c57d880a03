import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { freePort } from '@tessera/test-kit/provision';
import type { Environment } from '@tessera/test-client';
import { startWorkloadIssuer } from '../workload-issuer.ts';

/** An object of one of the two kinds, as a file has it. */
export interface Declared {
  readonly kind: 'TesseraApplication' | 'TesseraResource';
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec: Readonly<Record<string, unknown>>;
}

interface Stored {
  readonly kind: string;
  readonly spec: unknown;
  readonly status?: StatusOfObject;
  readonly metadata: Record<string, unknown> & {
    readonly name: string;
    readonly namespace: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly finalizers?: readonly string[];
    readonly deletionTimestamp?: string;
  };
}

export interface StatusOfObject {
  readonly conditions?: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly observedGeneration?: number;
  readonly [field: string]: unknown;
}

export type Named = Pick<Declared, 'kind' | 'metadata'>;

/** What people do with `kubectl`. */
export interface KubernetesApi {
  /** What it calls its issuer. */
  readonly issuer: string;
  /** With which Tessera trusts its service accounts. */
  readonly trusting: Environment;
  /** For the controller, as that service account. */
  kubeConfig(serviceAccount: ServiceAccount): Promise<object>;
  token(serviceAccount: ServiceAccount, audience: string): Promise<string>;
  apply(object: Declared): Promise<void>;
  remove(object: Named): Promise<void>;
  /** Undefined if there is none, or no longer. */
  status(object: Named): Promise<StatusOfObject | undefined>;
  /** Of all applications of a namespace. */
  statuses(namespace: string): Promise<readonly StatusOfObject[]>;
  /** `Normal Written: The record ...` of each event of an object, in their order. */
  events(object: Named): Promise<readonly string[]>;
  stop(): Promise<void>;
}

export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** What the status of an object says of a condition: `True Written`; `gone` without the object. */
export async function conditionOf(api: KubernetesApi, object: Named, type = 'Ready'): Promise<string> {
  const status = await api.status(object);
  return status === undefined ? 'gone' : conditionIn(status, type);
}

export function conditionIn({ conditions = [] }: StatusOfObject, type = 'Ready'): string {
  const said = conditions.find((condition) => condition.type === type);
  return said === undefined ? 'unknown' : `${said.status} ${said.reason}`;
}

export function kubeConfigFor(cluster: object, user: object): object {
  return {
    clusters: [{ name: 'test', cluster }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
}

export const plurals: Readonly<Record<string, string>> = {
  TesseraApplication: 'tesseraapplications',
  TesseraResource: 'tesseraresources',
};

type Body = Record<string, unknown>;

/** RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const from = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {};
  const result: Body = { ...from };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

/**
 * Starts what the API server of Kubernetes does with objects of these kinds: list, watch, get, merge patches of object
 * and status, with versions, generations and finalizers; events; and the name of the issuer of the cluster.
 */
export async function startKubernetesApi(): Promise<KubernetesApi> {
  const workloads = await startWorkloadIssuer(await freePort());
  const port = await freePort();
  const { issuer } = workloads;
  const stored = new Map<string, Stored>();
  const told: Body[] = [];
  const watches = new Set<{ readonly plural: string; readonly response: ServerResponse }>();
  const history: { readonly version: number; readonly plural: string; readonly line: string }[] = [];
  let version = 1;

  const pathOf = ({ kind, metadata: { namespace, name } }: Named) => `${namespace}/${plurals[kind]}/${name}`;

  function put(path: string, object: Stored, type = stored.has(path) ? 'MODIFIED' : 'ADDED'): Stored {
    version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    const next = { ...object, apiVersion: 'tessera.dev/v1alpha1', metadata };
    const isGone =
      next.metadata.deletionTimestamp !== undefined && (next.metadata.finalizers ?? []).length === 0;
    if (isGone || type === 'DELETED') stored.delete(path);
    else stored.set(path, next);
    const [, plural = ''] = path.split('/');
    const line = `${JSON.stringify({ type: isGone ? 'DELETED' : type, object: next })}\n`;
    history.push({ version, plural, line });
    for (const watch of watches) if (watch.plural === plural) watch.response.write(line);
    return next;
  }

  function patch(path: string, part: string, body: Body): [number, unknown] {
    const known = stored.get(path);
    if (known === undefined) return [404, { code: 404, message: 'not found' }];
    const { resourceVersion } = (body['metadata'] ?? {}) as { readonly resourceVersion?: string };
    if (resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion)
      return [409, { code: 409, message: 'the object has been modified' }];
    const after = merged(known, body) as Stored;
    if (part === 'status') return [200, put(path, { ...known, status: after.status ?? {} })];
    const isOther = JSON.stringify(after.spec) !== JSON.stringify(known.spec);
    const generation = known.metadata.generation + (isOther ? 1 : 0);
    const { status: _, ...others } = after;
    const status = known.status === undefined ? {} : { status: known.status };
    return [200, put(path, { ...others, ...status, metadata: { ...after.metadata, generation } })];
  }

  function watch(plural: string, since: number, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const event of history)
      if (event.plural === plural && event.version > since) response.write(event.line);
    const entry = { plural, response };
    watches.add(entry);
    response.on('close', () => watches.delete(entry));
    response.flushHeaders();
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://localhost');
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? {} : (JSON.parse(text) as Body);
    const [, one = '', part = ''] =
      /^\/apis\/tessera\.dev\/v1alpha1\/namespaces\/([^/]+\/[^/]+\/[^/]+)(?:\/(status))?$/.exec(
        url.pathname,
      ) ?? [];
    const [, all] = /^\/apis\/tessera\.dev\/v1alpha1\/([^/]+)$/.exec(url.pathname) ?? [];
    if (all !== undefined && url.searchParams.has('watch'))
      return watch(all, Number(url.searchParams.get('resourceVersion') ?? 0), response);
    const [status, value] = ((): [number, unknown] => {
      if (url.pathname === '/.well-known/openid-configuration') return [200, { issuer }];
      if (url.pathname.endsWith('/events')) {
        told.push(body);
        return [201, body];
      }
      if (all !== undefined) {
        const items = [...stored].filter(([path]) => path.split('/')[1] === all).map(([, object]) => object);
        return [200, { metadata: { resourceVersion: String(version) }, items }];
      }
      if (request.method === 'PATCH') return patch(one, part, body);
      const found = stored.get(one);
      return found === undefined ? [404, { code: 404, message: 'not found' }] : [200, found];
    })();
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  }

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done));
  return {
    issuer,
    trusting: { TESSERA_ALLOW_PRIVATE: 'issuers' },

    kubeConfig: async () =>
      kubeConfigFor({ server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true }, {}),

    token: async ({ namespace, name }, audience) =>
      workloads.token({ sub: `system:serviceaccount:${namespace}:${name}`, aud: audience }),

    async apply(object) {
      const path = pathOf(object);
      const { kind, spec, metadata } = object;
      if (stored.has(path))
        patch(path, '', { metadata, spec: { ...withoutKeysOf(stored.get(path)?.spec), ...spec } });
      else
        put(path, {
          kind,
          spec,
          metadata: { ...metadata, uid: randomUUID(), generation: 1, resourceVersion: '' },
        });
    },

    async remove(object) {
      const found = stored.get(pathOf(object));
      if (found === undefined) return;
      const metadata = { ...found.metadata, deletionTimestamp: new Date().toISOString() };
      put(pathOf(object), { ...found, metadata });
    },

    async status(object) {
      const found = stored.get(pathOf(object));
      return found && (found.status ?? {});
    },

    async statuses(namespace) {
      const begins = `${namespace}/${plurals['TesseraApplication']}/`;
      return [...stored].filter(([path]) => path.startsWith(begins)).map(([, { status = {} }]) => status);
    },

    async events({ metadata: { name } }) {
      return told
        .filter((event) => (event['involvedObject'] as Body | undefined)?.['name'] === name)
        .map(({ type, reason, message }) => `${String(type)} ${String(reason)}: ${String(message)}`);
    },

    async stop() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await workloads.stop();
    },
  };
}

/** Removes what is no longer declared, as `kubectl apply` does. */
function withoutKeysOf(spec: unknown): Body {
  return Object.fromEntries(Object.keys(spec ?? {}).map((key) => [key, null]));
}
