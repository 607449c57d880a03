import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createAuthority,
  createDatabase,
  createServiceRoles,
  freePort,
  requiredUrl,
  type TestDatabase,
} from '@tessera/test-kit/provision';
import { CleanRoot, type ImageProcess } from './clean-root.ts';

const repository = dirname(dirname(import.meta.dirname));
const order = ['keys', 'directory', 'authorize', 'device', 'token', 'gateway'] as const;
type Name = (typeof order)[number];

const root = mkdtempSync(join(tmpdir(), 'tessera-split-'));
const image = new CleanRoot(root);
const unique = randomBytes(4).toString('hex');
const issuer = 'https://id.example.com';
const alerts = readFileSync(join(repository, 'deploy/helm/tessera/alerts.yaml'), 'utf8');

let database: TestDatabase;
let urlFor: (role: string) => string;
const running = new Map<Name, ImageProcess>();
const ports = {} as Record<Name, { rpc: number; management: number }>;
let http = 0;

beforeAll(async () => {
  execFileSync(process.execPath, [join(import.meta.dirname, 'assemble.ts'), image.app], { stdio: 'pipe' });
  image.seal();
  database = await createDatabase();
  urlFor = await createServiceRoles(database.url);
  await writeCertificates();
  http = await freePort();
  for (const name of order) ports[name] = { rpc: await freePort(), management: await freePort() };
}, 300_000);

afterAll(async () => {
  await Promise.all([...running.values()].map((each) => each.stop()));
  await database.drop();
  rmSync(root, { recursive: true });
});

/** As in a cluster: migrations by a role of their own, mutual TLS, peers by names that end with a dot. */
describe('The split topology, from the image, with a database role per service', () => {
  test('waits for the schema, alive and not ready', async () => {
    for (const name of order) running.set(name, image.start(name, environmentOf(name)));
    for (const name of order) {
      await eventually(async () => (await ask(ports[name].management, '/livez')).status === 200);
    }
    await sleep(500);
    for (const name of ['keys', 'directory', 'authorize', 'device', 'token'] as const) {
      expect((await ask(ports[name].management, '/readyz')).status, name).toBe(503);
    }
  }, 60_000);

  test('is ready soon after the migrations were applied by their owner, who alone may', async () => {
    const refused = image.start('tessera', { DATABASE_URL: urlFor('') }, ['migrate']);
    expect(await refused.exited).toBe(1);
    expect(refused.output).toContain('permission denied');
    const migrated = image.start('tessera', { DATABASE_URL: urlFor('owner') }, ['migrate']);
    expect(await migrated.exited, migrated.output).toBe(0);
    for (const name of order) await running.get(name)?.ready(ports[name].management);
  }, 90_000);

  test('takes the declared state by a call of the operator', async () => {
    const applied = image.start('tessera', { ...certificateOf('operator'), ...peers(['directory']) }, [
      'apply',
      '--file',
      `${image.inside}/app/deploy/demo/tessera.yaml`,
    ]);
    expect(await applied.exited, applied.output).toBe(0);
    expect(applied.output).toMatch(/^demo: \d+ created, 0 updated, 0 deleted$/m);
  }, 60_000);

  test('counts what is rare from 0, so that alerts see the increase to the first event', async () => {
    const texts = await Promise.all(
      order.map(async (name) => (await ask(ports[name].management, '/metrics')).text()),
    );
    const counted = [...alerts.matchAll(/increase\((\w+)(?:\{(\w+)=~?"([^"]+)"\})?\[/g)];
    expect(counted.length).toBe(alerts.split('increase(').length - 1);
    for (const [, name, label = '', values = ''] of counted) {
      for (const value of values.split('|')) {
        const labels = label === '' ? '' : `\\{(?:[^}]*,)?${label}="${value}"[^}]*\\}`;
        expect(texts.join(''), `${name} ${value}`).toMatch(new RegExp(`^${name}${labels} 0$`, 'm'));
      }
    }
  });

  test('passes the smoke test', async () => {
    const smoke = image.start(
      'tessera',
      {
        TESSERA_ISSUER: issuer,
        TESSERA_CLIENT_ID: 'demo-service',
        TESSERA_CLIENT_SECRET: 'demo-secret-not-for-production-0001',
      },
      ['smoke', '--address', `http://[::1]:${http}`],
    );
    expect(await smoke.exited, smoke.output).toBe(0);
    expect(smoke.output).toContain('good  a token, signed by one of them');
  }, 30_000);

  test('tells in its metrics what happened, and in the dashboard and the alerts nothing that is not measured', async () => {
    const texts = await Promise.all(
      order.map(async (name) => (await ask(ports[name].management, '/metrics')).text()),
    );
    const all = texts.join('');
    expect(all).toMatch(/^tessera_exchanges_total\{grant="client_credentials",outcome="issued"\} 1$/m);
    expect(all).toMatch(
      /^tessera_http_requests_total\{endpoint="\/token",method="POST",status="200",error=""\} 1$/m,
    );
    expect(all).toMatch(/^tessera_signatures_total 1$/m);
    expect(all).toMatch(/^tessera_signing_key_age_seconds\{algorithm="RS256",since="active"\} [\d.]+$/m);
    const measured = new Set([...all.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name));
    for (const file of ['dashboards/tessera.json', 'alerts.yaml']) {
      const used = readFileSync(join(repository, 'deploy/helm/tessera', file), 'utf8').matchAll(
        /\b(?:tessera|process)_[a-z_]+/g,
      );
      const names = new Set([...used].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')));
      expect(names.size, file).toBeGreaterThan(5);
      expect(
        [...names].filter((name) => !measured.has(name)),
        file,
      ).toEqual([]);
    }
  });

  test('ends with 0, every process', async () => {
    for (const name of order.toReversed()) expect(await running.get(name)?.stop(), name).toBe(0);
  }, 60_000);
});

function environmentOf(name: Name): Record<string, string> {
  return {
    TESSERA_ISSUER: issuer,
    TESSERA_MIGRATIONS: 'wait',
    DATABASE_URL: urlFor(name === 'gateway' ? '' : name),
    REDIS_URL: requiredUrl('TESSERA_TEST_REDIS_URL'),
    TESSERA_REDIS_KEY_PREFIX: `split-${unique}:`,
    TESSERA_KEYS_KEK: Buffer.alloc(32, 1).toString('base64'),
    TESSERA_DIRECTORY_PEPPER: Buffer.alloc(32, 2).toString('base64'),
    TESSERA_TOKEN_REFRESH_KEYS: `1:${Buffer.alloc(32, 3).toString('base64')}`,
    // Nothing is sent: who sends mail measures what waits.
    TESSERA_SMTP_URL: 'smtp://localhost:25',
    TESSERA_MAIL_FROM: 'tessera@example.com',
    // As in the chart: IPv6, and IPv4 with it.
    TESSERA_HTTP_HOST: '::',
    TESSERA_HTTP_PORT: String(http),
    TESSERA_RPC_HOST: '::',
    TESSERA_RPC_PORT: String(ports[name].rpc),
    TESSERA_MANAGEMENT_HOST: '::',
    TESSERA_MANAGEMENT_PORT: String(ports[name].management),
    ...certificateOf(name),
    ...peers(order.filter((each) => each !== 'gateway')),
  };
}

const peers = (names: readonly Name[]) => ({
  TESSERA_PEERS: names.map((name) => `${name}=${image.peerHost}:${ports[name].rpc}`).join(' '),
});

function certificateOf(name: string): Record<string, string> {
  return { TESSERA_RPC_AUTH: 'mtls', TESSERA_RPC_TLS_DIR: `${image.inside}/certificates/${name}` };
}

async function writeCertificates(): Promise<void> {
  const authority = await createAuthority();
  const directory = join(root, 'certificates');
  for (const name of [...order, 'operator']) {
    const { cert, key } = await authority.issue(name);
    const write = (file: string, text: string) =>
      // Read by the unprivileged user of the image.
      writeFileSync(join(directory, name, file), text, { mode: 0o644 });
    mkdirSync(join(directory, name), { recursive: true });
    write('ca.crt', authority.cert);
    write('tls.crt', cert);
    write('tls.key', key);
  }
}

const ask = (port: number, path: string) => fetch(`http://127.0.0.1:${port}${path}`);

async function eventually(check: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1_800; attempt += 1) {
    if (await check().catch(() => false)) return;
    await sleep(100);
  }
  throw new Error('It did not happen within three minutes.');
}
