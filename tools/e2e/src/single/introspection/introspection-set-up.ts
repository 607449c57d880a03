import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCertificates, installedDatabaseUrl, redisUrl, type CertificateFiles } from '@tessera/test-kit';
import { declaredState, ordersAudience, people, type StateOptions } from '../../harness/declared-state.ts';
import { eventually, freePort } from '@tessera/test-kit/provision';
import {
  type Environment,
  HttpClient,
  Person,
  entryOf,
  peersOf,
  timesApplied,
  type ServerProcess,
} from '@tessera/test-client';
import { PatientProcess } from '../../harness/patient-process.ts';

const single = ['keys', 'directory', 'authorize', 'device', 'gateway'] as const;
export const introspectorSecret = 'acme-introspector-secret-0123456789-0123456789';
export const briefSecret = 'acme-brief-secret-0123456789-0123456789-abcd';

/** The declared state with a client that introspects and one whose access tokens expire at once. */
function state(options: StateOptions = {}): string {
  const added = `
      - clientId: acme-introspector
        name: Acme Introspector
        type: confidential
        secrets: [{value: "${introspectorSecret}"}]
        grantTypes: [client_credentials]
        scopes: [tokens.introspect]
        introspectAudiences: ["${ordersAudience}"]
      - clientId: acme-brief
        name: Acme Brief
        type: confidential
        secrets: [{value: "${briefSecret}"}]
        grantTypes: [client_credentials]
        scopes: [orders.read]
        lifetimes: {accessToken: 1s}
`;
  return declaredState(options).replace('  - id: globex', `${added.slice(1)}  - id: globex`);
}

export interface Replica {
  readonly process: ServerProcess;
  /** Where our own processes and certified introspectors call. */
  readonly port: number;
  /** Where services without a certificate call. */
  readonly introspectionPort: number;
  start(): Promise<void>;
}

export type Replicated = Awaited<ReturnType<typeof startReplicated>>;

/** Six processes with real certificates, the token service as often as asked; `running` of them are started. */
export async function startReplicated({ replicas, running }: { replicas: number; running: number }) {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const applyFile = join(directory, 'state.yaml');
  await writeFile(applyFile, state());
  const files = await createCertificates(directory, [
    ...single,
    'token',
    'introspector',
    'introspector.orders',
  ]);
  const httpPort = await freePort();
  const ports = new Map<string, number>();
  for (const name of single) ports.set(name, await freePort());
  const tokenPorts = await Promise.all(Array.from({ length: replicas }, freePort));
  const common: Environment = {
    TESSERA_APPLY_FILE: applyFile,
    TESSERA_APPLY_ALLOW: 'administration',
    TESSERA_LOG_LEVEL: 'debug',
    DATABASE_URL: await installedDatabaseUrl(),
    REDIS_URL: redisUrl(),
    TESSERA_REDIS_KEY_PREFIX: `e2e-${randomBytes(6).toString('hex')}:`,
    TESSERA_KEYS_KEK: randomBytes(32).toString('base64'),
    TESSERA_DIRECTORY_PEPPER: randomBytes(32).toString('base64'),
    TESSERA_TOKEN_REFRESH_KEYS: `1:${randomBytes(32).toString('base64')}`,
    TESSERA_ISSUER: `http://127.0.0.1:${httpPort}`,
    TESSERA_HTTP_HOST: '127.0.0.1',
    TESSERA_HTTP_PORT: String(httpPort),
    ...peersOf((name) =>
      name === 'token'
        ? `ipv4:${tokenPorts.map((port) => `127.0.0.1:${port}`).join(',')}`
        : `127.0.0.1:${ports.get(name)}`,
    ),
  };
  const others = await Promise.all(
    single.map((name) =>
      plan(name, { ...common, ...trust(files, name), TESSERA_RPC_PORT: String(ports.get(name)) }),
    ),
  );
  const tokens = await Promise.all(
    tokenPorts.map(async (port): Promise<Replica> => {
      const introspectionPort = await freePort();
      const planned = await plan('token', {
        ...common,
        ...trust(files, 'token'),
        TESSERA_RPC_PORT: String(port),
        TESSERA_INTROSPECTION_PORT: String(introspectionPort),
      });
      return { port, introspectionPort, ...planned };
    }),
  );
  const all = [...others, ...tokens];
  const http = new HttpClient(() => `http://127.0.0.1:${httpPort}`);
  const stop = async () => {
    http.close();
    await Promise.all(all.map(({ process }) => process.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await Promise.all([...others, ...tokens.slice(0, running)].map(({ start }) => start()));
  } catch (cause) {
    const output = all.map(({ process }) => process.output).join('');
    await stop();
    throw new Error(`the system did not start:\n${output.slice(-4000)}`, { cause });
  }
  return {
    http,
    tokens,
    issuer: common['TESSERA_ISSUER'] ?? '',
    directory: others.find(({ process }) => process.name === 'directory')?.process,
    files,
    person: () => new Person(http, people.ada),
    /** Makes the declared state so; resolves once the directory has written it. */
    async apply(options: StateOptions): Promise<void> {
      const owner = others.find(({ process }) => process.name === 'directory')?.process;
      const applied = () => timesApplied(owner?.output ?? '');
      const before = applied();
      await writeFile(applyFile, state(options));
      owner?.signal('SIGHUP');
      await eventually('the declared state is applied', async () => applied() > before);
    },
    output: () => all.map(({ process }) => process.output).join(''),
    stop,
  };
}

async function plan(name: string, environment: Environment) {
  const managementPort = await freePort();
  const process = new PatientProcess(name, entryOf(name));
  return {
    process,
    async start(): Promise<void> {
      process.start({ ...environment, TESSERA_MANAGEMENT_PORT: String(managementPort) });
      await process.ready(`http://127.0.0.1:${managementPort}/readyz`);
    },
  };
}

function trust(files: CertificateFiles, name: string): Environment {
  return {
    TESSERA_RPC_AUTH: 'mtls',
    TESSERA_RPC_TLS_DIR: files.certificates[name]?.folder ?? '',
  };
}
