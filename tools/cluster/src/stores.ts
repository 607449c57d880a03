import { restricted, restrictedPod, type Namespace } from './kubernetes.ts';

export interface StoreImages {
  readonly postgres: string;
  readonly redis: string;
}

interface Store {
  readonly name: string;
  readonly image: string;
  readonly port: number;
  readonly data: string;
  readonly args?: readonly string[];
  readonly env?: readonly object[];
}

/** Postgres and Redis in the namespace, on volumes that end with their pods. */
export async function createStores(on: Namespace, images: StoreImages, password: string): Promise<void> {
  const database = `postgres://tessera:${password}@postgres.${on.name}/tessera?sslmode=disable`;
  await on.apply([
    secret('database', { url: database, password }),
    secret('redis', { url: `redis://redis.${on.name}:6379` }),
    ...manifestsOf({
      name: 'postgres',
      image: images.postgres,
      port: 5432,
      data: '/var/lib/postgresql',
      // A slow disk is not what is tested; the data end with the pod anyway.
      args: ['postgres', '-c', 'fsync=off'],
      env: [
        { name: 'POSTGRES_USER', value: 'tessera' },
        { name: 'POSTGRES_DB', value: 'tessera' },
        { name: 'POSTGRES_PASSWORD', valueFrom: { secretKeyRef: { name: 'database', key: 'password' } } },
      ],
    }),
    ...manifestsOf({
      name: 'redis',
      image: images.redis,
      port: 6379,
      data: '/data',
      args: ['redis-server', '--protected-mode', 'no', '--maxmemory-policy', 'noeviction', '--save', ''],
    }),
  ]);
  await on.kubectl(['rollout', 'status', 'deployment/postgres', '--timeout=10m']);
  await on.kubectl(['rollout', 'status', 'deployment/redis', '--timeout=10m']);
}

export const secret = (name: string, stringData: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
});

function manifestsOf({ name, image, port, data, ...more }: Store): object[] {
  const labels = { store: name };
  const folders = { data, run: '/var/run/postgresql', tmp: '/tmp' };
  const container = {
    name,
    image,
    ...more,
    securityContext: restricted,
    // Without a request they would get what is left of the processors.
    resources: { requests: { cpu: '100m', memory: '128Mi' } },
    ports: [{ name: 'store', containerPort: port }],
    readinessProbe: { tcpSocket: { port: 'store' }, periodSeconds: 3 },
    volumeMounts: Object.entries(folders).map(([volume, mountPath]) => ({ name: volume, mountPath })),
  };
  const pod = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // The user of the official images.
    securityContext: restrictedPod(999),
    containers: [container],
    volumes: Object.keys(folders).map((volume) => ({ name: volume, emptyDir: {} })),
  };
  return [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { selector: labels, ports: [{ port, targetPort: 'store' }] },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name },
      spec: {
        strategy: { type: 'Recreate' },
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: pod },
      },
    },
  ];
}

const inPostgres = (on: Namespace, command: string) =>
  on.kubectl(['exec', 'deployment/postgres', '--', 'sh', '-ec', command]);

export async function dump(on: Namespace): Promise<void> {
  await inPostgres(on, 'pg_dump --username tessera --format custom --file /tmp/dump tessera');
}

/** Replaces the database by the dump. Nothing may be connected to it. */
export async function restoreDump(on: Namespace): Promise<void> {
  const psql = 'psql --quiet --username tessera --dbname postgres --command';
  await inPostgres(
    on,
    `${psql} 'DROP DATABASE tessera WITH (FORCE)'; ${psql} 'CREATE DATABASE tessera'; ` +
      'pg_restore --username tessera --dbname tessera /tmp/dump',
  );
}
