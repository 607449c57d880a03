/**
 * The console: pages for administrators, on the listener of the administration API. It is an application like any
 * other: people sign in by code flow, their access token stays here, and each page calls `tessera.admin.v1` with it. It
 * has no right of its own, and writes nothing down.
 *
 *     a browser ─> console-pages (headers, cookie, errors) ─> console-page-table ─> a file of pages/ ─> ../views
 *     signing in: pages/signing-in ─> console-sign-in ══HTTP══> the issuer; then console-sessions, in memory
 *     a page ─> visit.api ─> the administration API, by the token: refusals in its words
 *     a form: forms/form-page ─> confirmed-form ─> confirmed: what ends is said before it does
 *     the test of a provider: providers/try-provider ══HTTPS══> the provider
 */
import type { FastifyInstance } from 'fastify';
import { allowsPrivate, ConfigError } from '@tessera/process';
import { callingByToken, type BuiltService } from '@tessera/rpc';
import type { ConsoleConfig } from './config.ts';
import type { ConsoleDeps } from './console-pages.ts';

export { consoleConfig, type ConsoleConfig } from './config.ts';

/** What adds its pages to a listener; undefined if there is no console. The rest is loaded with its first use. */
export async function consoleOf(
  config: ConsoleConfig,
  {
    admin,
    ...given
  }: Pick<ConsoleDeps, 'directory' | 'log'> & { readonly admin: Pick<BuiltService, 'routes'> },
  /** The shared issuer. */
  issuer = config.TESSERA_ISSUER,
): Promise<((scope: FastifyInstance) => Promise<void>) | undefined> {
  const { TESSERA_CONSOLE_URL: url, TESSERA_CONSOLE_TOKEN_FILE: tokenFile } = config;
  const proof = tokenFile === undefined ? config.TESSERA_CONSOLE_SECRET : { tokenFile };
  if (url === undefined || proof === undefined) return undefined;
  if (issuer === undefined)
    throw new ConfigError(['TESSERA_ISSUER is required with TESSERA_CONSOLE_URL: people sign in there.']);
  const { consolePages } = await import('./console-pages.ts');
  const { createTryProvider } = await import('./providers/try-provider.ts');
  return consolePages({
    ...given,
    byToken: await callingByToken(admin.routes, given.log),
    url,
    proof,
    issuer,
    operatorTenant: config.TESSERA_OPERATOR_TENANT,
    messagesDirectory: config.TESSERA_MESSAGES_DIR,
    tryProvider: createTryProvider(allowsPrivate(config, 'providers')),
  });
}
