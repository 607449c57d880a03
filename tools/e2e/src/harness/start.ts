import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCertificates } from '@tessera/test-kit';
import { declaredState, people } from './declared-state.ts';
import { copyEmbeddedDatabase, createServiceRoles, eventually, freePort } from '@tessera/test-kit/provision';
import {
  entryOf,
  HttpClient,
  newKeys,
  Person,
  planProcess,
  planSystem,
  services,
  timesApplied,
  type Environment,
  type PlannedProcess,
  type Service,
  type ServerProcess,
} from '@tessera/test-client';
import { authorizeQuery, clientCredentials } from './flows.ts';
import type { SetUp, System } from './set-up.ts';
import { PatientProcess } from './patient-process.ts';

export interface Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string;
}

export interface StartOptions {
  /** Needed for set-ups on real stores. */
  readonly stores?: Stores;
  /** Settings in addition to those of the set-up. */
  readonly environment?: Environment;
  /** Settings for one process of a split set-up. */
  readonly only?: Readonly<Record<string, Environment>>;
}

/** Starts a system from nothing and waits until it serves. */
export async function startSystem(setUp: SetUp, options: StartOptions = {}): Promise<System> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  const applyFile = join(directory, 'state.yaml');
  await writeFile(applyFile, declaredState());
  if (setUp.stores === 'embedded') await copyEmbeddedDatabase(join(directory, 'data/database'));
  const httpPort = await freePort();
  const common: Environment = {
    TESSERA_APPLY_FILE: applyFile,
    TESSERA_APPLY_ALLOW: 'administration',
    TESSERA_DATA_DIR: join(directory, 'data'),
    TESSERA_LOG_LEVEL: 'debug',
    ...(setUp.stores === 'real' ? realStores(options.stores) : {}),
    ...options.environment,
    TESSERA_HTTP_HOST: '127.0.0.1',
    TESSERA_HTTP_PORT: String(httpPort),
  };
  const trust = setUp.rpc === 'mtls' ? await mutualTls(directory) : () => ({});
  const roles = setUp.roles === 'service' ? await rolesOfServices(common) : () => ({});
  const own = (name: Service) => ({ ...trust(name), ...roles(name), ...options.only?.[name] });
  const administered = { ...common, ...(await administration()) };
  const planned = await planSystem(setUp.topology, administered, own);
  const gateway = planned.find(({ name }) => name === 'gateway');
  if (gateway !== undefined) {
    // Both call others, and nobody calls them.
    const settings = { ...gateway.environment, ...trust('admin'), ...options.only?.['admin'] };
    planned.push(await planProcess('admin', settings));
  }
  const plan = planned.map((each) => ({ ...each, process: new PatientProcess(each.name, each.entry) }));
  return new RunningSystem(setUp, `http://127.0.0.1:${httpPort}`, directory, applyFile, plan).start();
}

function realStores(stores: Stores | undefined): Environment {
  if (stores === undefined) throw new Error('this set-up needs a database and a Redis');
  return {
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    TESSERA_REDIS_KEY_PREFIX: `e2e-${randomBytes(6).toString('hex')}:`,
    ...newKeys(),
  };
}

/** The listener of administrators, those of `acme` for every tenant. */
const administration = async (): Promise<Environment> => ({
  TESSERA_ADMIN_HOST: '127.0.0.1',
  TESSERA_ADMIN_PORT: String(await freePort()),
  TESSERA_OPERATOR_TENANT: 'acme',
});

interface Member extends PlannedProcess {
  readonly process: ServerProcess;
}

/** Migrates as the owner of the schemas; each service then gets the role that sees its own alone. */
async function rolesOfServices({ DATABASE_URL = '' }: Environment): Promise<(name: Service) => Environment> {
  const urlFor = await createServiceRoles(DATABASE_URL);
  const migration = new PatientProcess('migrate', entryOf('cli'), { arguments: ['migrate'] });
  migration.start({ DATABASE_URL: urlFor('owner') });
  if ((await migration.ended()) !== 0) throw new Error(`The migrations failed:\n${migration.output}`);
  return (name) => (name === 'gateway' ? {} : { DATABASE_URL: urlFor(name), TESSERA_MIGRATIONS: 'wait' });
}

async function mutualTls(directory: string): Promise<(name: Service | 'admin') => Environment> {
  const files = await createCertificates(directory, [...services, 'admin']);
  return (name) => ({
    TESSERA_RPC_AUTH: 'mtls',
    TESSERA_RPC_TLS_DIR: files.certificates[name]?.folder ?? '',
  });
}

class RunningSystem implements System {
  readonly setUp: SetUp;
  readonly baseUrl: string;
  readonly http: HttpClient;
  readonly #directory: string;
  readonly #applyFile: string;
  readonly #plan: readonly Member[];

  constructor(setUp: SetUp, baseUrl: string, directory: string, applyFile: string, plan: readonly Member[]) {
    this.setUp = setUp;
    this.baseUrl = baseUrl;
    this.http = new HttpClient(() => baseUrl);
    this.#directory = directory;
    this.#applyFile = applyFile;
    this.#plan = plan;
  }

  get processes(): readonly ServerProcess[] {
    return this.#plan.map(({ process }) => process);
  }

  environmentOf(name: string): Environment {
    const found = this.#plan.find(({ process }) => process.name === name);
    if (found === undefined) throw new Error(`there is no process ${name}`);
    return found.environment;
  }

  async start(): Promise<this> {
    for (const { process, environment } of this.#plan) process.start(environment);
    try {
      await this.#ready(this.#plan);
      await this.#reachable();
    } catch (cause) {
      const output = this.output();
      await this.stop();
      throw new Error(`${this.setUp.name} did not start:\n${output.slice(-4000)}`, { cause });
    }
    return this;
  }

  person(): Person {
    return new Person(this.http, people.ada);
  }

  async apply(options: Parameters<System['apply']>[0]): Promise<void> {
    const owner = this.processes.find(({ name }) => name === 'standalone' || name === 'directory');
    if (owner === undefined) throw new Error('no process holds the directory');
    const before = timesApplied(owner.output);
    await writeFile(this.#applyFile, declaredState(options));
    owner.signal('SIGHUP');
    await eventually('the declared state is applied', async () => timesApplied(owner.output) > before);
    // What decisions.md promises: in effect everywhere within a second.
    await sleep(1000);
  }

  async restart(name?: string, extra: Environment = {}): Promise<void> {
    const chosen = this.#plan.filter(({ process }) => name === undefined || process.name === name);
    await Promise.all(chosen.map(async ({ process }) => process.stop()));
    for (const { process, environment } of chosen) process.start({ ...environment, ...extra });
    await this.#ready(chosen);
    await this.#reachable();
  }

  /**
   * A process may be ready before its callers have reconnected to it, and a key may be younger than its announcement.
   */
  async #reachable(): Promise<void> {
    const query = authorizeQuery({ client_id: 'nobody' });
    // For set-ups that trust this machine as a proxy.
    const fromHere = { 'x-forwarded-for': '127.0.0.1' };
    await eventually('every service is reached through the gateway', async () => {
      const answers = await Promise.all([
        clientCredentials(this.http),
        clientCredentials(this.http, 'acme-parcels', 'contract', { scope: 'parcels.read' }),
        this.http.ask('POST', '/introspect', { json: { token: 'unknown' }, headers: fromHere }),
        this.http.ask('GET', `/authorize?${query}`),
      ]);
      return answers.map(({ status }) => status).join() === '200,200,200,400';
    });
  }

  output(): string {
    return this.processes.map(({ output }) => output).join('');
  }

  async stop(): Promise<void> {
    this.http.close();
    await Promise.all(this.processes.toReversed().map(async (process) => process.stop()));
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #ready(processes: readonly Member[]): Promise<void> {
    for (const { process, readyUrl } of processes) await process.ready(readyUrl);
  }
}
