import { mkdtemp, writeFile } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createIntrospector } from '@tessera/introspection-client';
import { eventually, startReceiver, type Receiver, type RestartableStore } from '@tessera/test-kit/provision';
import { HttpClient, leaks } from '@tessera/test-client';
import type { Caller, Surroundings } from '../load/caller.ts';
import { check, countLosses, type Limits, type Violation } from '../history/checker.ts';
import { planCluster, retryWindowMs, type Cluster, type ClusterOptions } from '../system/cluster.ts';
import { chosenSecrets } from '../system/declared-state.ts';
import type { Grant } from '../load/browser.ts';
import { decisionTokens } from '../load/out-of-band.ts';
import { Load } from '../load/lanes.ts';
import { introspect } from '../load/steps.ts';
import { longestOutage, retries, type Outage } from '../history/outages.ts';
import { Recorder } from '../history/recorder.ts';
import { auditRows, newDatabase } from '../system/stores.ts';

/** What a scenario acts on while the clients run. */
export interface Stage {
  readonly cluster: Cluster;
  readonly recorder: Recorder;
  /** Of the whole run. */
  readonly postgres: RestartableStore;
  /** What the clients share, for clients of the scenario's own. */
  readonly on: Surroundings;
  readonly log: (line: string) => void;
}

export interface Scenario extends Omit<ClusterOptions, 'databaseUrl' | 'webhookUrl'> {
  readonly name: string;
  /** Maximum time from the end of a fault to full service. */
  readonly recoveryMs: number;
  /**
   * What clients may notice: `nothing`; `retries`; absent: also that a lost response used up a short-lived value.
   */
  readonly noticed?: 'nothing' | 'retries';
  act(stage: Stage): Promise<void>;
}

export interface Report {
  readonly scenario: string;
  readonly operations: number;
  readonly retries: number;
  /** Failures that clients could not fix by a retry, allowed or not. */
  readonly losses: number;
  readonly outage: Outage;
  readonly violations: readonly Violation[];
  readonly seconds: number;
}

/** Clean-up for every end of a run; last in, first out. */
export type CleanUps = (() => Promise<void>)[];

/** Pause between the starts of two clients. */
const arrivalMs = 150;
const warmUpMs = 3_000;
const coolDownMs = 3_000;
/** How long clients may take to finish. */
const finishMs = 20_000;
/** Audit rows of what changes no state come in batches. */
const auditMs = 1_500;
const pauseMs = 350;

/** Runs one scenario from scratch and checks its history against the invariants. */
export async function play(
  scenario: Scenario,
  postgres: RestartableStore,
  options: {
    readonly cleanUps: CleanUps;
    readonly log: (line: string) => void;
    /** Keeps the history even without violations. */
    readonly keep: boolean;
  },
): Promise<Report> {
  const { cleanUps, log } = options;
  const startedAt = performance.now();
  const load = new MachineLoad();
  cleanUps.push(async () => load.stop());
  const databaseUrl = await newDatabase(postgres.url);
  const notifications = await startReceiver();
  cleanUps.push(() => notifications.close());
  const cluster = await planCluster({ ...scenario, databaseUrl, webhookUrl: notifications.url });
  cleanUps.push(() => cluster.kill());
  await cluster.start();
  log('every process is ready');

  const recorder = new Recorder();
  const crowd = new Crowd(cluster, recorder, notifications);
  cleanUps.push(() => crowd.leave());
  await crowd.arrive();
  await sleep(warmUpMs);
  await crowd.disableLeavers();
  const trouble = await scenario.act({ cluster, recorder, postgres, on: crowd.on, log }).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  await sleep(coolDownMs);
  await crowd.finish();
  await sleep(auditMs);
  await cluster.stop();

  const audit = await auditRows(databaseUrl);
  const output = cluster.output();
  const values = [...crowd.http.seen, ...decisionTokens(notifications)];
  const chosen = chosenSecrets().filter((secret) => output.includes(secret));
  const evidence = { audit, leaks: leaks(output, values).length + chosen.length };
  const stretch = load.stretch();
  if (stretch > 1) log(`the machine was busy: limits of time are stretched ${stretch.toFixed(1)} times`);
  const limits: Limits = {
    retryWindowMs,
    codeLifetimeMs: 60_000,
    disableDelayMs: 1_000,
    recoveryMs: scenario.recoveryMs * stretch,
    lostAuditMs: 1_500,
  };
  await crowd.leave();
  const again = retries(recorder);
  const violations = check(recorder, evidence, limits);
  if (trouble !== undefined) violations.push({ invariant: 'I7', text: trouble });
  const losses = countLosses(recorder, evidence, limits);
  if (scenario.noticed === 'nothing') {
    for (const what of again) violations.push({ invariant: 'I7', text: `${what} had to be sent again` });
  }
  if (scenario.noticed !== undefined && losses > 0)
    violations.push({ invariant: 'I7', text: `${losses} answers could not be had by asking again` });
  if (violations.length > 0 || options.keep) log(`what happened is kept in ${await keep(cluster, recorder)}`);
  return {
    scenario: scenario.name,
    operations: recorder.operations.length,
    retries: again.length,
    losses,
    outage: longestOutage(recorder),
    violations,
    seconds: Math.round((performance.now() - startedAt) / 1000),
  };
}

/** Load average per processor on a machine that runs nothing else. */
const ownLoad = 3;

/** How busy the machine is besides this run; time limits grow with it. */
class MachineLoad {
  #most = 0;
  readonly #timer = setInterval(() => {
    this.#most = Math.max(this.#most, loadavg()[0] ?? 0);
  }, 5_000).unref();

  stretch(): number {
    return Math.max(1, this.#most / availableParallelism() / ownLoad);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** Writes the history and the output of the processes to files, which contain no secrets. */
async function keep(cluster: Cluster, { operations, faults }: Recorder): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-chaos-kept-'));
  const lines = [...faults, ...operations].map((entry) => `${JSON.stringify(entry)}\n`);
  await writeFile(join(directory, 'history.jsonl'), lines.join(''));
  for (const { name, output } of cluster.replicas) await writeFile(join(directory, `${name}.log`), output);
  return directory;
}

/** All clients of a run. */
class Crowd {
  readonly http: HttpClient;
  readonly #cluster: Cluster;
  readonly #recorder: Recorder;
  readonly #load: Load;
  readonly #introspector: ReturnType<typeof createIntrospector>;
  readonly #grants: { readonly grant: Grant; readonly caller: Caller; readonly first: string }[] = [];
  readonly #giveUp = new AbortController();
  readonly on: Surroundings;
  #running = true;
  #lanes: Promise<void>[] = [];

  constructor(cluster: Cluster, recorder: Recorder, notifications: Receiver) {
    this.#cluster = cluster;
    this.#recorder = recorder;
    this.http = new HttpClient(() => cluster.url, { scheduling: 'fifo' });
    this.#introspector = createIntrospector({
      target: cluster.introspectionTarget,
      credentials: { sharedToken: cluster.rpcToken },
      cache: false,
      watch: false,
    });
    this.on = { http: this.http, recorder, running: () => this.#running, signal: this.#giveUp.signal };
    this.#load = new Load({
      on: this.on,
      notifications,
      introspector: this.#introspector,
      pauseMs,
      grants: (grant, caller) => this.#grants.push({ grant, caller, first: grant.tokens.refreshToken ?? '' }),
    });
  }

  /** Resolves once the leavers have signed in. */
  async arrive(): Promise<void> {
    await this.#load.firstKeySet();
    this.#lanes = this.#load.lanes().map(async (lane, at) => {
      // Not all at once: new processes are slow, and so is password hashing.
      await sleep(at * arrivalMs);
      return lane();
    });
    // A client that throws is a defect of this program, reported by `finish`.
    for (const lane of this.#lanes) lane.catch(() => undefined);
    await eventually('those who leave have signed in', async () => this.#load.allLeaversHere());
  }

  async disableLeavers(): Promise<void> {
    const facts = {
      kind: 'disable',
      actor: 'operator',
      tenant: '',
      clientId: '',
      person: '',
      ends: this.#load.leavers,
    } as const;
    const done = { outcome: { result: 'good', status: 0 } } as const;
    await this.#recorder.record(
      facts,
      0,
      async () => this.#cluster.disableLeavers(),
      () => done,
    );
  }

  /** Lets all clients finish, then introspects every refresh token. */
  async finish(): Promise<void> {
    this.#running = false;
    const patience = setTimeout(() => this.#giveUp.abort(), finishMs);
    try {
      await Promise.all(this.#lanes);
      for (const { grant, caller, first } of this.#grants) {
        const newest = grant.tokens.refreshToken;
        for (const token of new Set([first, newest])) {
          if (token !== undefined && token !== '')
            await introspect(caller, 'refresh', token, grant.basis, true);
        }
      }
    } finally {
      clearTimeout(patience);
    }
  }

  async leave(): Promise<void> {
    this.#running = false;
    this.#giveUp.abort();
    this.http.close();
    await this.#introspector.close();
  }
}
