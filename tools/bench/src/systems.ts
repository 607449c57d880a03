import { writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { freePort } from '@tessera/test-kit/provision';
import { planSystem, ServerProcess, type Environment, type PlannedProcess } from '@tessera/test-client';
import {
  declaredState,
  sharedIssuer,
  workloadIssuer,
  workloadKey,
  type Population,
} from './declared-state.ts';
import type { Topology } from './options.ts';
import { populate } from './populate.ts';
import type { Stores } from './stores.ts';
import type { Target } from './target.ts';

/** As in `npm start` and in the image. */
const youngGeneration = '--max-semi-space-size=4';

/** A system under measurement: processes behind one address. */
export interface System {
  /** `compact`, `split`, `peer` or `bare`; of another checkout as `nameBeside` says. */
  readonly name: string;
  readonly target: Target;
  readonly processes: readonly { readonly name: string; readonly pid: number }[];
  /** Milliseconds from the start of the first process until the last is ready. */
  readonly startMs: number;
  stop(): Promise<void>;
}

export interface SystemOptions {
  readonly stores: Stores;
  readonly seed: string;
  readonly population: Population;
  /** Folder of the declared state and the logs. */
  readonly directory: string;
  /** Tells of the progress. */
  readonly say: (text: string) => void;
  /** The declared state, if it is applied at this start. */
  readonly applyFile?: string;
  /** More settings of all processes. */
  readonly environment?: Environment;
  /** Another checkout whose code runs instead of this one's. */
  readonly root?: string;
}

/**
 * Limits that one driver at one address would run into, lifetimes that what is prepared must outlast, and patience with
 * a Redis whose machine stands still for a moment, as shared ones do.
 */
const forOneDriver: Environment = {
  TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '100000000',
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: '100000000',
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: '100000000',
  TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: '100000',
  TESSERA_DEVICE_POLL_INTERVAL: '1s',
  TESSERA_AUTHORIZATION_CODE_TTL: '10m',
  TESSERA_ACCESS_TOKEN_TTL: '1h',
  TESSERA_DATABASE_STATEMENT_TIMEOUT: '8s',
};

export async function startTessera(topology: Topology, options: SystemOptions): Promise<System> {
  const { stores, seed, population, applyFile, environment, root } = options;
  const httpPort = await freePort();
  const baseUrl = `http://127.0.0.1:${httpPort}`;
  const plan = await planSystem(topology, {
    ...forOneDriver,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    TESSERA_ISSUER: population.ownIssuers === true ? sharedIssuer : baseUrl,
    TESSERA_HTTP_HOST: '127.0.0.1',
    TESSERA_HTTP_PORT: String(httpPort),
    TESSERA_KEYS_KEK: secret(seed, 0),
    TESSERA_DIRECTORY_PEPPER: secret(seed, 1),
    TESSERA_TOKEN_REFRESH_KEYS: `1:${secret(seed, 2)}`,
    ...(applyFile === undefined ? {} : { TESSERA_APPLY_FILE: applyFile }),
    ...(population.recent === true && {
      TESSERA_TRUSTED_ISSUER_KEYS: `${workloadIssuer}=${keysIn(options)}`,
    }),
    ...environment,
  });
  const { TESSERA_RPC_PORT: port, TESSERA_RPC_TOKEN: token = '' } =
    plan.find(({ name }) => name === 'token')?.environment ?? {};
  const calls = port === undefined ? {} : { calls: { target: `127.0.0.1:${port}`, token } };
  const name = root === undefined ? topology : nameBeside(topology, root);
  return start(name, plan, { kind: 'tessera', baseUrl, seed, population, ...calls }, options);
}

/** Writes the keys of those whose tokens prove to be applications; resolves with the file. */
function keysIn({ directory, seed }: SystemOptions): string {
  const file = join(directory, 'workload-keys.json');
  writeFileSync(file, JSON.stringify({ keys: workloadKey(seed).keys }));
  return file;
}

/** What a topology of another checkout is called. */
export const nameBeside = (topology: Topology, root: string): string => `${topology} of ${basename(root)}`;

/** The first start creates schema, keys and records. Later starts are measured. */
export async function applyState(options: SystemOptions): Promise<void> {
  const { directory, seed, population, stores, say } = options;
  const { tenants, applications, people } = population;
  say(`declaring ${tenants} tenants, ${tenants * applications} applications, ${tenants * people} people`);
  const applyFile = join(directory, 'state.yaml');
  writeFileSync(applyFile, declaredState(seed, population));
  const system = await startTessera('compact', { ...options, applyFile });
  await system.stop();
  await populate(stores.databaseUrl, population, { seed, pepper: Buffer.from(secret(seed, 1), 'base64') });
}

/** Any 32 bytes, the same for all systems of a run. */
function secret(seed: string, index: number): string {
  return Buffer.from(`${index}${seed}`.padEnd(32, '.')).subarray(0, 32).toString('base64');
}

/** `oidc-provider` as the peer, and what Fastify and grpc-js cost by themselves. */
export async function startOther(kind: 'peer' | 'bare', options: SystemOptions): Promise<System> {
  const [port, callPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const { seed, population } = options;
  const planned: Planned = {
    name: kind,
    entry: `tools/bench/src/${kind}/main.ts`,
    arguments: [String(port), kind === 'peer' ? seed : String(callPort)],
    environment: {},
    readyUrl: `${baseUrl}/.well-known/jwks.json`,
  };
  const target: Target = { kind, baseUrl, seed, population };
  const calls = kind === 'bare' ? { calls: { target: `127.0.0.1:${callPort}`, token: '' } } : {};
  return start(kind, [planned], { ...target, ...calls }, options);
}

interface Planned extends PlannedProcess {
  readonly arguments?: readonly string[];
}

/** Logs go to a file, as they would on a server. */
async function start(
  name: string,
  plan: readonly Planned[],
  target: Target,
  { directory, root }: SystemOptions,
): Promise<System> {
  const started = performance.now();
  const children = plan.map((planned) => {
    const { name: of, entry, environment, arguments: behind = [] } = planned;
    const nodeOptions = behind.length === 0 ? [youngGeneration] : [];
    const logFile = join(directory, `${of}.log`);
    const child = new ServerProcess(of, entry, { root, nodeOptions, arguments: behind, logFile });
    // The compile cache as in `npm start`.
    child.start({
      NODE_ENV: 'production',
      NODE_COMPILE_CACHE: 'node_modules/.cache/modules',
      ...environment,
    });
    return child;
  });
  // Servers do not outlive a benchmark that is broken off.
  const leave = (): void => children.forEach((child) => child.signal('SIGTERM'));
  process.once('exit', leave);
  const stop = async (): Promise<void> => {
    await Promise.all(children.toReversed().map((child) => child.stop()));
    process.off('exit', leave);
  };
  try {
    await Promise.all(
      plan.map(async ({ readyUrl }, index) => children[index]?.ready(readyUrl, readyWithinMs, 10)),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const startMs = performance.now() - started;
  return { name, target, processes: children.map(({ name: of, pid }) => ({ name: of, pid })), startMs, stop };
}

const readyWithinMs = 60_000;

/** Starts systems one after another, and stops them at the end of `work`. */
export async function withSystems<T>(
  starts: readonly (() => Promise<System>)[],
  work: (systems: readonly System[]) => Promise<T>,
): Promise<T> {
  const running: System[] = [];
  try {
    for (const each of starts) running.push(await each());
    return await work(running);
  } finally {
    await Promise.all(running.map((system) => system.stop()));
  }
}
