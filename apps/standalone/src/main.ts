/**
 * Compact: every service in one process, with the same code as split.
 *
 *     HTTP ─> gateway ─> token ─> authorize, device ─> directory, keys   direct calls, by compose
 *             with DATABASE_URL and REDIS_URL: Postgres and Redis; without: PGlite and memory
 *     introspectors ══gRPC══> token; tessera, curl ══Connect══> admin at TESSERA_ADMIN_PORT, or as the data directory says
 *     without TESSERA_APPLY_FILE and DATABASE_URL: the demo tenants and demo-client
 */
import { fileURLToPath } from 'node:url';
import { allowedByConfig, applyAtStart, isLoopback } from '@tessera/directory';
import { bootstrapAtStart } from '@tessera/people';
import { insecureSettings } from '@tessera/gateway';
import { createRuntime, maintainSchemas, runProcess, type Lifecycle } from '@tessera/process';
import { rootCall, type BuiltService } from '@tessera/rpc';
import { ulid } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { serveIntrospection } from '@tessera/token';
import { administer } from './administer.ts';
import { banner, notReady, type Addresses } from './banner.ts';
import { firstAdministratorLink } from './welcome-link.ts';
import { allMigrations, compose } from './compose.ts';
import { introspectionCredentials, standaloneConfig, withAdministration, withSecrets } from './config.ts';

const demoFile = fileURLToPath(new URL('../../../deploy/demo/tessera.yaml', import.meta.url));

await runProcess({
  name: 'standalone',
  config: standaloneConfig,
  environment: process.env,
  prepare: async (environment) => withAdministration(await withSecrets(environment)),
  start: async ({ config, log, lifecycle }) => {
    const runtime = await createRuntime({ name: 'standalone', config, log, lifecycle });
    await maintainSchemas(allMigrations, config, runtime, lifecycle);
    const isDemo = config.TESSERA_APPLY_FILE === undefined && config.DATABASE_URL === undefined;
    const issuer = config.TESSERA_ISSUER ?? `http://localhost:${config.TESSERA_HTTP_PORT}`;
    // With a database, people come from other machines too.
    const address = config.DATABASE_URL === undefined ? issuer : undefined;
    const hasMailbox =
      isDemo && config.TESSERA_SMTP_URL === undefined && isLoopback(config.TESSERA_HTTP_HOST);
    const mailbox = hasMailbox ? (await import('./demo-client/mailbox.ts')).createMailbox() : undefined;
    const { clock, random } = runtime;
    const demo = isDemo
      ? (await import('./demo-client/index.ts')).demoClient({ issuer: () => issuer, clock, random, mailbox })
      : undefined;
    const { services, gateway, token, directory, keys, admin, bootstrap, declaredState } = compose(
      config,
      (service) => ({ ...runtime, log: runtime.log.child({ component: service }) }),
      {
        readiness: async () => readiness(lifecycle),
        draining: lifecycle.signal,
        address,
        extensions: demo === undefined ? [] : [demo],
        ...(mailbox && {
          mailRoute: { transport: mailbox.transport, from: 'no-reply@localhost', issuer },
        }),
      },
    );
    for (const service of services) {
      if (service === gateway) lifecycle.onDrain(async () => gateway.close());
      else lifecycle.onClose(async () => service.close());
      lifecycle.check(service.name, async () => service.ready());
    }
    const call = () => rootCall(ulid(runtime.clock, runtime.random));
    await applyAtStart({
      file: isDemo ? demoFile : config.TESSERA_APPLY_FILE,
      ...allowedByConfig(config),
      exposure: config,
      declaredState,
      environment: process.env,
      call,
      log,
      lifecycle,
      dataDirectory: config.DATABASE_URL === undefined ? config.TESSERA_DATA_DIR : undefined,
      transform: (text) => (isDemo ? text.replaceAll('http://localhost:8080', issuer) : text),
    });
    const file = config.TESSERA_BOOTSTRAP_ADMIN_FILE;
    await bootstrapAtStart({ file, bootstrap, call: call(), log });
    for (const setting of insecureSettings(config)) log.warn({ event: 'open_door' }, setting);
    const url = await gateway.listen({ host: config.TESSERA_HTTP_HOST, port: config.TESSERA_HTTP_PORT });
    log.info({ url }, 'serving HTTP');
    const introspection = await serveIntrospection(token, config, {
      credentials: () => introspectionCredentials(config),
      log,
      drainMs: config.TESSERA_DRAIN_TIMEOUT * 1000,
    });
    if (introspection !== undefined) lifecycle.onDrain(() => introspection.drain());
    const consoleUrl = await administer(admin, [directory, keys], config, {
      issuer,
      directory,
      lifecycle,
      log,
    });
    if (isDemo)
      await welcome({ issuer, consoleUrl }, services, async () =>
        firstAdministratorLink(bootstrap, issuer, call()),
      );
  },
});

/**
 * The banner is for a server that answers. Otherwise, such as after a lost key-encryption key, the reason is printed.
 */
async function welcome(
  addresses: Addresses,
  services: readonly BuiltService[],
  link: () => Promise<string | undefined>,
): Promise<void> {
  const states = await Promise.allSettled(services.map(async (service) => service.ready()));
  const failed = services.filter((_service, at) => states[at]?.status === 'rejected').map(({ name }) => name);
  process.stdout.write(failed.length === 0 ? banner(addresses, process.pid, await link()) : notReady(failed));
}

async function readiness(lifecycle: Lifecycle): Promise<void> {
  const { ready, state } = await lifecycle.readiness();
  if (!ready) throw temporarilyUnavailable(`the process is ${state}`);
}
