/** A Keycloak of its own, from Maven Central, below `test-output`. It needs Java 17 and Maven, and runs on loopback. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const version = '26.4.0';
const folder = join(import.meta.dirname, '../../test-output/examples/keycloak');
const home = join(folder, `keycloak-${version}`);
/** Where it listens, unless it is told otherwise. */
export const address = 'http://127.0.0.1:19490';
const administrator = { username: 'admin', password: 'admin-of-the-example-not-for-production' };
const patience = 900_000;

/** The administration of a running Keycloak. */
export interface Administration {
  /**
   * Sends JSON to a path below `/admin/realms`, and resolves with what is answered, if anything is. Throws unless it is
   * accepted.
   */
  send(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<unknown>;
}

/** Whether the tools are on the PATH. */
export function hasTools(): boolean {
  return ['java', 'mvn'].every((tool) => spawnSync('/bin/sh', ['-c', `command -v ${tool}`]).status === 0);
}

/**
 * Starts a Keycloak, by default an empty one. Resolves when it answers at the address, whose host is a name of this
 * machine.
 */
export async function startKeycloak({ address: at = address, keepsData = false } = {}): Promise<
  Administration & { stop(): Promise<void> }
> {
  install();
  if (!keepsData) rmSync(join(home, 'data'), { recursive: true, force: true });
  const server = spawn(
    '/bin/sh',
    ['bin/kc.sh', 'start-dev', '--http-host=127.0.0.1', `--http-port=${new URL(at).port}`],
    {
      cwd: home,
      env: {
        ...process.env,
        KC_BOOTSTRAP_ADMIN_USERNAME: administrator.username,
        KC_BOOTSTRAP_ADMIN_PASSWORD: administrator.password,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  let output = '';
  server.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const stop = async () => {
    server.kill();
    await ended;
  };
  const until = Date.now() + patience;
  while (!output.includes('Listening on')) {
    if (server.exitCode !== null || Date.now() > until) {
      await stop();
      throw new Error(`Keycloak did not start.\n${output.slice(-4000)}`);
    }
    await sleep(500);
  }
  return { send: senderAt(at), stop };
}

/** Starts an empty Keycloak, has `make` make a realm, stops it and returns what `kc.sh export` writes of the realm. */
export async function exportOf(
  realm: string,
  make: (administration: Administration) => Promise<void>,
): Promise<Record<string, unknown>> {
  const keycloak = await startKeycloak();
  try {
    await make(keycloak);
  } finally {
    await keycloak.stop();
  }
  return exportRealm(realm);
}

/** What `kc.sh export` writes of a realm of the Keycloak that ran last. */
export function exportRealm(realm: string): Record<string, unknown> {
  // Its database has one user at a time, so the server is gone by now.
  const file = join(folder, 'realm.json');
  const words = ['bin/kc.sh', 'export', '--realm', realm, '--users', 'same_file', '--file', file];
  execFileSync('/bin/sh', words, { cwd: home, stdio: ['ignore', 'ignore', 'inherit'] });
  return JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
}

function install(): void {
  if (existsSync(home)) return;
  const artifact = `org.keycloak:keycloak-quarkus-dist:${version}:zip`;
  const words = ['-q', '-B', 'dependency:unpack', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`];
  mkdirSync(folder, { recursive: true });
  // Maven leaves its markers where it runs.
  execFileSync('mvn', words, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}

const senderAt =
  (at: string): Administration['send'] =>
  async (method, path, body) => {
    const response = await fetch(`${at}/admin/realms${path}`, {
      method,
      headers: { authorization: `Bearer ${await accessToken(at)}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  };

async function accessToken(at: string): Promise<string> {
  const response = await fetch(`${at}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...administrator }),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}
