import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@tessera/test-kit/provision';
import {
  entryOf,
  peersOf,
  ServerProcess,
  services,
  sharedToken,
  type Environment,
  type Service,
} from '@tessera/test-client';
import { declaredState, sharedIssuer, type Population } from './declared-state.ts';
import type { Topology } from './options.ts';
import type { Stores } from './stores.ts';
import type { Target } from './target.ts';

/** As in `npm start` and in the image. */
const youngGeneration = '--max-semi-space-size=4';

/** A system under measurement: processes behind one address. */
export interface System {
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
  /** The declared state, if it is applied at this start. */
  readonly applyFile?: string;
  /** Another checkout whose code runs instead of this one's. */
  readonly root?: string;
}

interface Planned {
  readonly name: string;
  /** The entry below the root of the checkout. */
  readonly entry: string;
  readonly arguments?: readonly string[];
  readonly environment: Environment;
  /** Answers with 200 once the process is ready. */
  readonly readyUrl: string;
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
  TESSERA_LOGINS_PER_ACCOUNT: '100000000',
  TESSERA_LOGINS_PER_ADDRESS: '100000000',
  TESSERA_DEVICE_REQUESTS_PER_CLIENT: '100000000',
  TESSERA_DEVICE_REQUESTS_PER_ADDRESS: '100000000',
  TESSERA_CIBA_REQUESTS_PER_USER: '100000000',
  TESSERA_CIBA_PENDING_PER_USER: '100',
  TESSERA_DEVICE_POLL_INTERVAL: '1s',
  TESSERA_AUTHORIZATION_CODE_TTL: '10m',
  TESSERA_ACCESS_TOKEN_TTL: '1h',
  TESSERA_REDIS_COMMAND_TIMEOUT: '2s',
};

export async function startTessera(topology: Topology, options: SystemOptions): Promise<System> {
  const httpPort = await freePort();
  const baseUrl = `http://127.0.0.1:${httpPort}`;
  const common: Environment = {
    ...forOneDriver,
    DATABASE_URL: options.stores.databaseUrl,
    REDIS_URL: options.stores.redisUrl,
    TESSERA_ISSUER: options.population.ownIssuers === true ? sharedIssuer : baseUrl,
    TESSERA_HTTP_HOST: '127.0.0.1',
    TESSERA_HTTP_PORT: String(httpPort),
    TESSERA_KEYS_KEK: secret(options.seed, 0),
    TESSERA_DIRECTORY_PEPPER: pepperOf(options.seed).toString('base64'),
    TESSERA_TOKEN_REFRESH_KEYS: `1:${secret(options.seed, 2)}`,
    ...(options.applyFile === undefined ? {} : { TESSERA_APPLY_FILE: options.applyFile }),
  };
  const { seed, population } = options;
  const target: Target = { kind: 'tessera', baseUrl, seed, population };
  if (topology === 'compact') {
    return start([await ours('standalone', common)], target, options);
  }
  const { plan, calls } = await splitPlan(common);
  return start(plan, { ...target, calls }, options);
}

/** The first start creates schema, keys and records. Later starts are measured. */
export async function applyState(options: SystemOptions): Promise<void> {
  const applyFile = join(options.directory, 'state.yaml');
  writeFileSync(applyFile, declaredState(options.seed, options.population));
  const system = await startTessera('compact', { ...options, applyFile });
  await system.stop();
}

/** Any 32 bytes, the same for all systems of a run. */
function secret(seed: string, index: number): string {
  return Buffer.from(`${index}${seed}`.padEnd(32, '.')).subarray(0, 32).toString('base64');
}

/** Key of the digests of client secrets. */
export const pepperOf = (seed: string): Buffer => Buffer.from(secret(seed, 1), 'base64');

async function splitPlan(
  common: Environment,
): Promise<{ plan: Planned[]; calls: { target: string; token: string } }> {
  const ports = new Map<Service, number>();
  for (const name of services) ports.set(name, await freePort());
  const trust = sharedToken();
  const peers = peersOf((name) => `127.0.0.1:${ports.get(name)}`);
  const plan: Planned[] = [];
  for (const [name, port] of ports)
    plan.push(await ours(name, { ...common, ...peers, ...trust, TESSERA_RPC_PORT: String(port) }));
  return {
    plan,
    calls: { target: `127.0.0.1:${ports.get('token')}`, token: trust['TESSERA_RPC_TOKEN'] ?? '' },
  };
}

async function ours(name: string, environment: Environment): Promise<Planned> {
  const port = await freePort();
  return {
    name,
    entry: entryOf(name),
    environment: { ...environment, TESSERA_MANAGEMENT_PORT: String(port) },
    readyUrl: `http://127.0.0.1:${port}/readyz`,
  };
}

export async function startPeer(options: SystemOptions): Promise<System> {
  const [port, mintPort] = [await freePort(), await freePort()];
  const mintUrl = `http://127.0.0.1:${mintPort}`;
  const planned: Planned = {
    name: 'oidc-provider',
    entry: 'tools/bench/src/peer/main.ts',
    arguments: [String(port), String(mintPort)],
    environment: {},
    readyUrl: `${mintUrl}/ready?count=1`,
  };
  const { seed, population } = options;
  const target = { kind: 'peer', baseUrl: `http://127.0.0.1:${port}`, seed, population, mintUrl } as const;
  return start([planned], target, options);
}

/** What Fastify and grpc-js cost by themselves. */
export async function startBare(options: SystemOptions): Promise<System> {
  const [port, callPort] = [await freePort(), await freePort()];
  const baseUrl = `http://127.0.0.1:${port}`;
  const planned: Planned = {
    name: 'bare',
    entry: 'tools/bench/src/bare/main.ts',
    arguments: [String(port), String(callPort)],
    environment: {},
    readyUrl: `${baseUrl}/ready`,
  };
  const calls = { target: `127.0.0.1:${callPort}`, token: '' };
  const { seed, population } = options;
  return start([planned], { kind: 'bare', baseUrl, seed, population, calls }, options);
}

async function start(plan: readonly Planned[], target: Target, options: SystemOptions): Promise<System> {
  const started = performance.now();
  const children = plan.map((planned) => run(planned, options));
  // Servers do not outlive a benchmark that is broken off.
  const leave = (): void => {
    for (const child of children) child.signal('SIGTERM');
  };
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
  const processes = children.map(({ name, pid }) => ({ name, pid }));
  return { target, processes, startMs, stop };
}

/** Long enough for ten thousand applications and people to be applied. */
const readyWithinMs = 240_000;

/** Logs go to a file, as they would on a server. */
function run(planned: Planned, { directory, root }: SystemOptions): ServerProcess {
  const { name, entry, environment } = planned;
  const child = new ServerProcess(name, entry, {
    root,
    nodeOptions: planned.arguments === undefined ? [youngGeneration] : [],
    arguments: planned.arguments ?? [],
    logFile: join(directory, `${name}.log`),
  });
  // The compile cache as in `npm start`.
  child.start({
    NODE_ENV: 'production',
    NODE_COMPILE_CACHE: 'node_modules/.cache/modules',
    ...environment,
  });
  return child;
}
