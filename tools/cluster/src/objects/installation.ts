import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { host } from '../declared-state.ts';
import { cluster, podOf, type Namespace } from '../kubernetes.ts';
import { certificatesOf, createRelease, type Release } from '../release.ts';
import { NotPossibleHere, type Stage } from '../scenario.ts';
import { createSecrets, newSecret } from '../secrets.ts';
import { createStores, secret } from '../stores.ts';
import { startClient, type Client } from './client.ts';
import { valuesWithObjects, type Surroundings } from './values.ts';

const definitions = ['tesseraapplications.tessera.dev', 'tesseraresources.tessera.dev'];
const entrance = 'entrance';
/** The name of the Service of the other issuer. */
export const builder = 'builder';

/** Namespaces of services, and that of their Tessera. */
interface Namespaces {
  readonly own: Namespace;
  /** Of the tenant acme, as `stock`. */
  readonly shop: Namespace;
  readonly stock: Namespace;
  /** Of the tenant globex. */
  readonly elsewhere: Namespace;
  /** Of no tenant. */
  readonly stray: Namespace;
}

/** A Tessera with the controller, none of whose clients has a secret. */
export interface Installation extends Namespaces {
  readonly release: Release;
  readonly surroundings: Surroundings;
  /** Of ada, who signs in at the tenant acme. */
  readonly password: string;
  start(on: Namespace, name: string, more?: { issuer?: string; beside?: readonly object[] }): Promise<Client>;
  /** Runs the command `tessera` in a pod of the process with the records. */
  tessera(...words: readonly string[]): Promise<{ readonly code: number; readonly said: string }>;
  end(): Promise<void>;
}

/** Installs it in namespaces of their own, which end with it. */
export async function installWithController(stage: Stage): Promise<Installation> {
  const present = await cluster(['get', 'customresourcedefinitions', '--output=name']);
  if (definitions.some((name) => present.includes(name)))
    throw new NotPossibleHere(
      'the cluster has objects of Tessera already, which another controller may follow',
    );
  const { on, image, release, valuesFile } = stage;
  const namespaces: Namespaces = {
    own: await on.beside('objects'),
    shop: await on.beside('shop'),
    stock: await on.beside('stock'),
    elsewhere: await on.beside('elsewhere'),
    stray: await on.beside('stray'),
  };
  const installed: Release[] = [];
  let isOver = false;
  const end = async () => {
    if (isOver) return;
    isOver = true;
    await removeAll(installed, namespaces);
  };
  on.atTheEnd(end);
  const { own } = namespaces;
  const password = newSecret();
  const base = `http://${release.front}.${own.name}`;
  const surroundings = await prepare(stage, namespaces, { password, base });
  const values = valuesWithObjects(surroundings);
  const { topology } = release;
  const created = createRelease(own, { topology, image, imageBefore: undefined, valuesFile, values });
  installed.push(created);
  await created.install();
  return {
    ...namespaces,
    release: created,
    surroundings,
    password,
    start: (where, name, more = {}) => startClient(where, { name, image, base, ...more }),
    tessera: (...words) => inPod(created, words),
    end,
  };
}

/** All that is there before the release: Secrets, stores, and where the host of the issuer leads to. */
async function prepare(
  { image, authority, stores }: Stage,
  { own, ...others }: Namespaces,
  { password, base }: { readonly password: string; readonly base: string },
): Promise<Surroundings> {
  const [keys = {}] = createSecrets();
  const issued = await authority.issue(host);
  await own.apply([
    keys,
    ...(await certificatesOf(own, authority)),
    secret('authority', { 'ca.crt': authority.cert }),
    secret('people', { 'ada-password': password }),
    secret(entrance, { 'tls.crt': issued.cert, 'tls.key': issued.key }),
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: entrance } },
  ]);
  await createStores(own, stores, newSecret());
  const metadata = await cluster(['get', '--raw', '/.well-known/openid-configuration']);
  const { issuer: clusterIssuer } = JSON.parse(metadata) as { readonly issuer: string };
  const { shop, stock, elsewhere } = others;
  return {
    namespaces: { own: own.name, shop: shop.name, stock: stock.name, elsewhere: elsewhere.name },
    clusterIssuer,
    otherIssuer: `https://${builder}.${stock.name}`,
    entrance: await openEntrance(own, image, base),
  };
}

/** In place of an Ingress, as the issuer is https: resolves with the address that its host has for the controller. */
async function openEntrance(own: Namespace, image: string, base: string): Promise<string> {
  const script = readFileSync(join(import.meta.dirname, '..', 'entrance-script.ts'), 'utf8');
  const ports = [{ port: 443, targetPort: 8443 }];
  await own.apply([
    { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: entrance }, data: { 'entrance.mts': script } },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: entrance },
      spec: { selector: { role: entrance }, ports },
    },
    podOf({
      name: entrance,
      image,
      command: ['node', '/entrance/entrance.mts', base, '/certificate'],
      serviceAccount: entrance,
      mounts: {
        '/entrance': { configMap: { name: entrance } },
        '/certificate': { secret: { secretName: entrance, defaultMode: 0o440 } },
      },
    }),
  ]);
  return own.kubectl(['get', 'service', entrance, '--output=jsonpath={.spec.clusterIP}']);
}

/** With its exit code, whatever that is, and without what it prints on standard error. */
async function inPod(release: Release, words: readonly string[]) {
  const [pod = ''] = await release.pods(release.topology === 'compact' ? 'standalone' : 'directory');
  const command = ['/app/deploy/image/start.ts', 'tessera', ...words];
  const answer = await release.node(
    pod,
    `const { spawnSync } = require('node:child_process');
     const { status, stdout } = spawnSync(process.execPath, ${JSON.stringify(command)}, { encoding: 'utf8' });
     console.log(JSON.stringify({ code: status, said: stdout }));`,
  );
  return JSON.parse(answer) as { readonly code: number; readonly said: string };
}

/** Objects wait for a controller, so they are let go once it is gone; nothing but this scenario made any. */
async function removeAll(releases: readonly Release[], namespaces: Namespaces): Promise<void> {
  const all = Object.values(namespaces) as Namespace[];
  for (const release of releases) await release.uninstall().catch(() => undefined);
  const kinds = definitions.join(',');
  for (const each of all) {
    const text = await each.kubectl(['get', kinds, '--output=name', '--ignore-not-found']).catch(() => '');
    for (const object of text.split('\n').filter(Boolean))
      await each.kubectl(['patch', object, '--type=merge', '--patch={"metadata":{"finalizers":null}}']);
  }
  await cluster(['delete', 'customresourcedefinitions', ...definitions, '--ignore-not-found']);
  await Promise.all(all.map((each) => each.remove()));
}
