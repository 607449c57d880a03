import closeWithGrace from 'close-with-grace';
import type { z } from 'zod';
import { ConfigError, loadConfig } from './config/load-config.ts';
import { remedyFor } from '@tessera/stores';
import { createLifecycle, type Lifecycle, type ProcessLifecycle } from './lifecycle.ts';
import {
  errorMessage,
  createLogger,
  logConsole,
  metrics,
  measureProcess,
  traceFields,
} from '@tessera/telemetry';
import type { Logger } from '@tessera/telemetry';
import { startManagement } from './management/management.ts';
import type { ProcessConfig } from './config/settings-of-every-process.ts';
import { rpcCertificate, type RpcConfig } from './config/rpc-settings.ts';
import { measureCertificate, measureState } from './management/process-metrics.ts';
import { tracesAreOn, tracesProtocol, tracingEnvironment } from './config/tracing-settings.ts';
import { removedNames } from './config/removed-settings.ts';
import { sizeThreadPool } from './thread-pool.ts';

export interface ProcessContext<C> {
  readonly config: C;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
}

type Environment = Readonly<Record<string, string | undefined>>;

export interface RunOptions<S extends z.ZodObject> {
  /** The process, for example `token`. */
  readonly name: string;
  /** `processConfig` combined with that of everything the process hosts. */
  readonly config: S;
  /** The process's own: the size of its thread pool is set there. */
  readonly environment: Record<string, string | undefined>;
  /** Default: `text` at a terminal, for people, else `json`. */
  readonly logFormat?: 'text' | 'json' | undefined;
  /** Completes the environment before it is read. */
  prepare?(environment: Environment): Promise<Environment>;
  /** Builds, migrates, listens. What it opened hangs on the lifecycle, so a start that fails half-way closes it too. */
  start(context: ProcessContext<z.infer<S> & ProcessConfig>): Promise<void>;
}

/** Beyond pause and drain, for what is flushed and closed. */
const closeMarginMs = 15_000;

/**
 * The whole life of a process: settings, log, management listener, start, signals, orderly end. SIGTERM and SIGINT
 * withdraw readiness, pause, drain, flush and exit with 0; a failed start prints one sentence and exits with 1.
 * The only place that installs signal handlers and exits.
 */
export async function runProcess<S extends z.ZodObject>(options: RunOptions<S>): Promise<void> {
  let log: Logger | undefined;
  let lifecycle: ProcessLifecycle | undefined;
  sizeThreadPool(options.environment);
  try {
    const environment = (await options.prepare?.(options.environment)) ?? options.environment;
    const config = loadConfig(options.config, environment) as z.infer<S> & ProcessConfig;
    const isTraced = tracesAreOn(config);
    log = createLogger({
      service: options.name,
      level: config.TESSERA_LOG_LEVEL,
      format: await formatOf(options.logFormat ?? (process.stdout.isTTY ? 'text' : 'json')),
      mixin: isTraced ? traceFields : undefined,
    });
    logConsole(log);
    for (const { name, sentence } of removedNames(environment)) log.warn({ setting: name }, sentence);
    const pauseMs = config.TESSERA_DRAIN_PAUSE * 1000;
    const drainTimeoutMs = config.TESSERA_DRAIN_TIMEOUT * 1000;
    lifecycle = createLifecycle({ log, pauseMs, drainTimeoutMs });
    stopOnSignal(lifecycle, log, pauseMs + drainTimeoutMs + closeMarginMs);
    reloadOnSignal(lifecycle, log);
    // The first to be opened, so that the last spans are sent when everything else is closed.
    if (isTraced) lifecycle.onClose(await trace(options, config, log));
    await listen(options.name, config, lifecycle);
    await options.start({ config, log, lifecycle });
    lifecycle.started();
    log.info({ event: 'server.started', pid: process.pid }, 'started');
  } catch (error) {
    // A start that was interrupted by a signal ends with the stop that is under way.
    if (lifecycle?.signal.aborted === true) return;
    report(options.name, error, log);
    await lifecycle?.stop({ pause: false });
    process.exit(1);
  }
}

async function formatOf(format: 'text' | 'json'): Promise<((line: string) => string) | undefined> {
  if (format === 'json') return undefined;
  const { formatForPeople } = await import('@tessera/telemetry/for-people');
  return formatForPeople({ colorize: true });
}

async function listen(name: string, config: ProcessConfig, lifecycle: Lifecycle): Promise<void> {
  if (config.TESSERA_MANAGEMENT_PORT === undefined) return;
  await measureProcess();
  measureState(name, lifecycle);
  const rpc = config as Partial<RpcConfig>;
  const certificate = rpcCertificate(rpc);
  if (rpc.TESSERA_RPC_AUTH === 'mtls' && certificate !== undefined) measureCertificate(certificate.cert);
  const management = await startManagement({
    host: config.TESSERA_MANAGEMENT_HOST,
    port: config.TESSERA_MANAGEMENT_PORT,
    lifecycle,
    metrics: () => metrics.read(),
  });
  lifecycle.onClose(() => management.close());
}

async function trace<S extends z.ZodObject>(
  { name, environment }: RunOptions<S>,
  config: ProcessConfig,
  log: Logger,
): Promise<() => Promise<void>> {
  // Imported here, so that a process without traces does not load the SDK, which reads the environment by itself.
  Object.assign(environment, tracingEnvironment(config));
  const { startTracing } = await import('@tessera/telemetry/start');
  return startTracing(tracesProtocol(config), { name, log });
}

/**
 * A terminal signals every process of its group, and npm passes the signal on once more: that is not a second request.
 */
const sameSignalMs = 1_000;

function stopOnSignal(lifecycle: ProcessLifecycle, log: Logger, delay: number): void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  let asked: { readonly signal: string; readonly at: number } | undefined;
  const settings = {
    delay,
    logger: false,
    skip: ['beforeExit' as const, 'SIGHUP' as const, ...signals],
    onTimeout: () => log.fatal('stopping took too long; forced exit'),
    onSecondError: (error: unknown) =>
      log.fatal({ err: error }, 'second failure while stopping; forced exit'),
  } satisfies closeWithGrace.Options;
  const closing = closeWithGrace(settings, async ({ err, signal = asked?.signal }) => {
    if (err === undefined) log.info({ signal }, 'stop requested');
    else log.fatal({ err }, 'unhandled error');
    await lifecycle.stop({ pause: err === undefined });
    log.info({ event: 'server.stopped' }, 'stopped');
  });
  // Listened to for good: without any listener for an instant, a signal would end the process at once.
  const stop = (signal: string): void => {
    if (asked === undefined) {
      asked = { signal, at: performance.now() };
      closing.close();
    } else if (performance.now() - asked.at > sameSignalMs) {
      log.fatal('second signal; forced exit');
      process.exit(1);
    }
  };
  for (const signal of signals) process.on(signal, stop);
}

function reloadOnSignal(lifecycle: ProcessLifecycle, log: Logger): void {
  process.on('SIGHUP', () => {
    log.info('reload requested');
    void lifecycle.reload();
  });
}

/** One sentence for the person at the terminal; the stack, where it helps, goes into the log. */
function report(name: string, error: unknown, log: Logger | undefined): void {
  const sentence = error instanceof Error ? explain(error) : 'unknown failure';
  process.stderr.write(`tessera ${name} cannot start: ${sentence}\n`);
  if (!(error instanceof ConfigError)) log?.fatal({ err: error }, 'start failed');
}

const permissions = 'Correct the permissions, or choose another TESSERA_DATA_DIR.';

/** What a person can do about the failures of Node that name no setting. */
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'Stop what listens there, or choose another port (TESSERA_HTTP_PORT, TESSERA_RPC_PORT or TESSERA_MANAGEMENT_PORT).',
  EACCES: permissions,
  EROFS: permissions,
};

function explain(error: Error): string {
  const remedy = remedyFor(error) ?? remedies['code' in error ? String(error.code) : ''];
  return remedy === undefined ? errorMessage(error) : `${errorMessage(error)}. ${remedy}`;
}
