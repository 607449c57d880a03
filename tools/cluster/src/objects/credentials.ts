import { gunzipSync } from 'node:zlib';
import type { Namespace } from '../kubernetes.ts';
import { check } from '../scenario.ts';
import { newSecret } from '../secrets.ts';
import { secret } from '../stores.ts';
import type { Installation } from './installation.ts';
import { tenantsWithObjects } from './values.ts';

interface StoredSecret {
  readonly metadata: { readonly name: string };
  readonly type: string;
  readonly data?: Readonly<Record<string, string>>;
}

/** What Secrets are there for, by their names and keys: stores, keys, certificates, and a person. No client. */
const ownSecrets: readonly (readonly [name: RegExp, keys: readonly string[]])[] = [
  [/^database$/, ['password', 'url']],
  [/^redis$/, ['url']],
  [/^secrets$/, ['directory-pepper', 'keys-kek', 'token-refresh-keys']],
  [/^people$/, ['ada-password']],
  [/^authority$/, ['ca.crt']],
  [/^entrance$/, ['tls.crt', 'tls.key']],
  [/-tls$/, ['ca.crt', 'tls.crt', 'tls.key']],
  [/^sh\.helm\.release\.v1\.tessera\.v\d+$/, ['release']],
];

/** What no place may hold: a token that somebody could send, and a client secret under any name for it. */
const credentials = [
  ['a token', /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/],
  ['a refresh token', /\btr_[\w-]{16,}/],
  ['a client secret', /client[_-]?secret["']?\s*[:=]\s*["']?[\w+/=-]{8,}/i],
] as const;

/** Where there are credentials of clients, and of which kind; no value is in the text. */
export function credentialsIn(places: ReadonlyMap<string, string>): string[] {
  return [...places].flatMap(([place, text]) =>
    credentials.filter(([, pattern]) => pattern.test(text)).map(([what]) => `${what} in ${place}`),
  );
}

/** Secrets that are there for nothing of Tessera's own: for a client. */
function othersAmong(on: Namespace, stored: readonly StoredSecret[]): string[] {
  return stored
    .filter(({ metadata, data = {} }) => {
      const keys = Object.keys(data).toSorted().join();
      return !ownSecrets.some(([name, own]) => name.test(metadata.name) && own.join() === keys);
    })
    .map(({ metadata }) => `the Secret ${metadata.name} of ${on.name}`);
}

/** What Helm keeps of a release: values and manifests. */
const releaseText = (data: string): string =>
  gunzipSync(Buffer.from(Buffer.from(data, 'base64').toString(), 'base64')).toString();

function textsOf(on: Namespace, { metadata, type, data = {} }: StoredSecret): [string, string][] {
  return Object.entries(data).map(([key, value]) => [
    `the Secret ${metadata.name} of ${on.name}`,
    type === 'helm.sh/release.v1' ? releaseText(value) : `${key}=${Buffer.from(value, 'base64').toString()}`,
  ]);
}

interface Looked {
  readonly secrets: number;
  readonly environments: number;
  readonly objects: number;
  readonly found: readonly string[];
}

/** Looks into all Secrets, values, environments of processes, and all objects that the cluster keeps. */
async function look({ own, shop, stock, elsewhere, stray }: Installation): Promise<Looked> {
  const places = new Map<string, string>([
    ['the values', await own.helm(['get', 'values', 'tessera', '--all', '--output=json'])],
  ]);
  const others: string[] = [];
  let [secrets, environments, objects] = [0, 0, 0];
  for (const on of [own, shop, stock, elsewhere, stray]) {
    const stored = (
      JSON.parse(await on.kubectl(['get', 'secrets', '--output=json'])) as {
        readonly items: readonly StoredSecret[];
      }
    ).items;
    secrets += stored.length;
    others.push(...othersAmong(on, stored));
    for (const each of stored)
      for (const [place, text] of textsOf(on, each)) places.set(`${place} (${places.size})`, text);
    const kinds = await on.kubectl(['api-resources', '--namespaced', '--verbs=list', '--output=name']);
    for (const kind of kinds.split('\n').filter((name) => name !== '' && !/^secrets$|metrics/.test(name))) {
      const text = await on.kubectl(['get', kind, '--output=json', '--show-managed-fields']);
      objects += (JSON.parse(text) as { readonly items: readonly unknown[] }).items.length;
      places.set(`${kind} of ${on.name}`, text);
    }
    const running = await on.kubectl([
      'get',
      'pods',
      '--field-selector=status.phase=Running',
      '--output=name',
    ]);
    for (const pod of running.split('\n').filter(Boolean)) {
      environments += 1;
      places.set(`the environment of ${pod} of ${on.name}`, await environmentOf(on, pod));
    }
  }
  return { secrets, environments, objects, found: [...others, ...credentialsIn(places)] };
}

const readEnvironment = `process.stdout.write(require('node:fs').readFileSync('/proc/1/environ', 'utf8').replaceAll('\\0', '\\n'))`;

/** Stores have no Node, and are no client. */
const environmentOf = (on: Namespace, pod: string): Promise<string> =>
  /^pod\/(?:postgres|redis)-/.test(pod)
    ? on.kubectl(['exec', pod, '--', 'cat', '/proc/1/environ'])
    : on.kubectl(['exec', pod, '--', 'node', '--eval', readEnvironment]);

/** No client has anything that could be stolen at rest; one that is given a secret is found, in two ways. */
export async function holdsNoCredential(installed: Installation): Promise<string> {
  const { own, release, surroundings, tessera } = installed;
  const words = [
    'doctor',
    '--secrets',
    '--process',
    release.topology === 'compact' ? 'standalone' : 'directory',
  ];
  const { secrets, environments, objects, found } = await look(installed);
  check(found.length === 0, `credentials of clients: ${found.join('; ')}`);
  const green = await tessera(...words);
  check(green.code === 0 && !green.said.includes('client secret'), `doctor: ${green.said}`);
  await own.apply([secret('planted', { 'planted-secret': newSecret() })]);
  const planted = {
    clientId: 'planted',
    name: 'Planted',
    type: 'confidential',
    grantTypes: ['client_credentials'],
    secrets: [{ fromFile: 'planted-secret' }],
  };
  await release.upgrade({
    state: { tenants: tenantsWithObjects(surroundings, [planted]), secrets: ['people', 'planted'] },
  });
  const red = await tessera(...words);
  check(red.code === 1, `doctor does not fail: ${red.said}`);
  check(/client secret +acme: planted\b/.test(red.said), `doctor names no planted secret: ${red.said}`);
  const again = await look(installed);
  check(
    again.found.some((place) => place.startsWith('the Secret planted of')),
    'a planted Secret is not found',
  );
  return `nothing in ${secrets} Secrets, ${environments} environments, ${objects} other objects and the values`;
}
