import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { freePort } from '@tessera/test-kit/provision';
import { newKeys, planSystem, type Environment } from '@tessera/test-client';
import { declaredState } from '../../harness/declared-state.ts';
import { PatientProcess } from '../../harness/patient-process.ts';

/** Libraries that a start loads only if its deployment uses them, and what uses them. */
const unused = [
  ['yaml', 'a declared state'],
  ['@bufbuild/protovalidate', 'a call of the administration API'],
  ['@bufbuild/cel', 'a call of the administration API'],
  ['@connectrpc/connect-node', 'the listener of the administration API'],
  ['@grpc/grpc-js', 'calls over gRPC and the listener of the administration API'],
  ['protobufjs', 'the listener of introspection and reflection'],
  ['@electric-sql/pglite', 'embedded stores'],
  ['pino-pretty', 'a log for people'],
  ['ajv', 'routes with schemas'],
  ['fast-json-stringify/index.js', 'routes with schemas'],
  ['nodemailer', 'a mail'],
  ['@simplewebauthn/server', 'a passkey'],
  ['@opentelemetry/', 'traces'],
  ['prom-client', 'metrics'],
  ['openid-client', 'a sign-in at a provider'],
  ['@kubernetes/client-node', 'the controller of a cluster, which is a process of its own'],
  ['jose/dist/webapi/jwe', 'a sealed secret'],
] as const;

/** As `unused`, of ours. */
const ownUnused = [
  ['libs/directory/src/assertions/verifier', 'an assertion'],
  ['libs/gateway/src/pages/account/', "one's own account"],
  ['libs/gateway/src/pages/approve/device-page', 'a device'],
] as const;

/**
 * A start with Postgres and Redis and without any other setting, so without `/metrics`, which take 84 more. A new
 * feature may need more: raise it then, knowingly.
 */
const most = 1_250;

/** Before the entry: writes the URL of each module that is loaded, those of Node too, a line each. */
const recorder = (file: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    import { appendFileSync } from 'node:fs';
    const known = new Set();
    registerHooks({
      resolve(specifier, context, next) {
        const found = next(specifier, context);
        if (!known.has(found.url)) appendFileSync(${JSON.stringify(file)}, found.url + '\\n');
        known.add(found.url);
        return found;
      },
    });
  `)}`;

describe('a start of the compact process', () => {
  let directory: string;
  beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'))));
  afterAll(async () => rm(directory, { recursive: true, force: true }));

  /** What was loaded when the process was ready. */
  async function loadedBy(name: string, environment: Environment = {}): Promise<string[]> {
    const file = join(directory, `${name}.loaded`);
    const httpPort = String(await freePort());
    const [plan] = await planSystem('compact', {
      DATABASE_URL: await newDatabaseUrl(),
      REDIS_URL: redisUrl(),
      TESSERA_REDIS_KEY_PREFIX: `${name}-${await freePort()}:`,
      TESSERA_DATA_DIR: join(directory, name),
      TESSERA_HTTP_HOST: '127.0.0.1',
      TESSERA_HTTP_PORT: httpPort,
      ...newKeys(),
      ...environment,
    });
    if (plan === undefined) throw new Error('no process was planned');
    const server = new PatientProcess(plan.name, plan.entry, { nodeOptions: ['--import', recorder(file)] });
    const { TESSERA_MANAGEMENT_PORT: _, ...settings } = plan.environment;
    server.start({ ...settings, ...environment });
    try {
      await server.ready(`http://127.0.0.1:${httpPort}/readyz`);
      return (await readFile(file, 'utf8')).trim().split('\n');
    } finally {
      await server.stop();
    }
  }

  const isOf = (library: string) => (url: string) => url.includes(`/node_modules/${library}`);

  describe('with nothing declared', () => {
    let loaded: readonly string[];
    beforeAll(async () => void (loaded = await loadedBy('bare')));

    it.each(unused)('does not load %s, which is for %s', (library) => {
      expect(loaded.filter(isOf(library))).toEqual([]);
    });

    it.each(ownUnused)('does not load %s, which is for %s', (part) => {
      expect(loaded.filter((url) => url.includes(`/${part}`))).toEqual([]);
    });

    it('loads no more modules than it may', () => {
      expect(loaded.length).toBeLessThanOrEqual(most);
    });

    it.each(['fastify', 'pg', 'ioredis', 'zod'])('is seen to load %s', (library) => {
      expect(loaded.some(isOf(library))).toBe(true);
    });
  });

  it('is seen to load what a declared state and metrics need, if there are any', async () => {
    const file = join(directory, 'state.yaml');
    await writeFile(file, declaredState());
    const loaded = await loadedBy('declared', {
      TESSERA_APPLY_FILE: file,
      TESSERA_APPLY_ALLOW: 'administration',
      TESSERA_OPERATOR_TENANT: 'acme',
      TESSERA_MANAGEMENT_PORT: String(await freePort()),
    });
    for (const library of ['yaml', 'prom-client']) expect(loaded.some(isOf(library))).toBe(true);
  });
});
