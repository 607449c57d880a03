import type { JsonObject } from '@bufbuild/protobuf';
import type { Format } from '../options.ts';
import { safeAddress } from '../oauth/safe-address.ts';
import { printed } from '../print-records.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import {
  changeContexts,
  environmentContext,
  localContext,
  readContexts,
  type Context,
} from './context-file.ts';

const columns = ['name', 'current', 'loggedIn', 'api', 'issuer', 'tenant', 'defaultTenant'];

/** Where a port of the chart is forwarded to. */
export const defaultApi = 'http://127.0.0.1:9002';

/** What may be said about a context. */
export interface ContextSettings {
  readonly api?: string | undefined;
  readonly issuer?: string | undefined;
  readonly tenant?: string | undefined;
  readonly caFile?: string | undefined;
  readonly serverName?: string | undefined;
}

/**
 * Throws CommandError for a context that cannot be used.
 * @param called where the addresses were said
 */
export function checkedContext<S extends ContextSettings>(
  { api, issuer, ...rest }: S,
  called = { api: '--api', issuer: '--issuer' },
): Omit<S, 'api' | 'issuer'> & Pick<Context, 'api' | 'issuer'> {
  const checked = (name: string, text = '') => safeAddress(name, text).replace(/\/$/, '');
  return { api: checked(called.api, api), issuer: checked(called.issuer, issuer), ...rest };
}

export function checkedName(name: string): string {
  const isBuiltIn = [localContext, environmentContext].includes(name);
  if (!isBuiltIn && /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(name)) return name;
  throw new CommandError(
    isBuiltIn
      ? `The context ${name} is built in, and needs no login.`
      : `${name} is no name for a context: letters, digits and . _ -`,
    2,
  );
}

/** Prints the contexts, never their tokens. */
export async function listContexts(
  { output }: { readonly output: Format },
  terminal: Terminal,
): Promise<void> {
  const { current, contexts } = await readContexts(terminal);
  const records = Object.entries(contexts).map(
    ([name, { login, client, ...settings }]) =>
      ({
        name,
        current: name === current,
        loggedIn: (login ?? client) !== undefined,
        ...(client?.clientId !== undefined && { clientId: client.clientId }),
        ...settings,
      }) as JsonObject,
  );
  terminal.out(await printed(records, output, columns));
}

/** Adds a context, without logging in. The first one becomes current. Throws CommandError. */
export async function addContext(name: string, settings: ContextSettings, terminal: Terminal): Promise<void> {
  const added = checkedContext({ api: defaultApi, ...settings });
  checkedName(name);
  await changeContexts(terminal, ({ current = name, contexts }) => {
    if (contexts[name] !== undefined) throw new CommandError(`There is a context ${name}. Remove it first.`);
    return { current, contexts: { ...contexts, [name]: added } };
  });
  terminal.say(`The context ${name} is added. Log in: tessera login --context ${name}\n`);
}

export interface UseOptions {
  /** The default tenant; false removes it; absent keeps it. */
  readonly tenant?: string | false;
}

/** Makes a context the one that commands use; `local` leaves none. Throws CommandError. */
export async function useContext(name: string, { tenant }: UseOptions, terminal: Terminal): Promise<void> {
  await changeContexts(terminal, ({ contexts }) => {
    if (name === localContext && tenant)
      throw new CommandError('The context local is kept nowhere: set TESSERA_TENANT for its tenant.', 2);
    if (name === localContext) return { contexts };
    const found = contexts[name];
    if (found === undefined) throw unknown(name);
    return { current: name, contexts: { ...contexts, [name]: withTenant(name, found, tenant) } };
  });
  const ofTenant = tenant ? `, and its tenant ${tenant} unless they name one` : '';
  terminal.say(`Commands use the context ${name}${ofTenant}.\n`);
}

function withTenant(name: string, context: Context, tenant: UseOptions['tenant']): Context {
  if (tenant === undefined) return context;
  const { defaultTenant: _, ...settings } = context;
  if (tenant === false) return settings;
  if (settings.tenant === undefined) return { ...settings, defaultTenant: tenant };
  if (settings.tenant === tenant) return settings;
  throw new CommandError(`The context ${name} is for the tenant ${settings.tenant} alone.`, 2);
}

/** Forgets a context and its login, which stays valid. Throws CommandError. */
export async function removeContext(name: string, terminal: Terminal): Promise<void> {
  await changeContexts(terminal, ({ current, contexts }) => {
    const { [name]: removed, ...others } = contexts;
    if (removed === undefined) throw unknown(name);
    if (removed.login !== undefined)
      throw new CommandError(`You are logged in to ${name}. Run tessera logout --context ${name} first.`);
    return { contexts: others, ...(current !== undefined && current !== name && { current }) };
  });
  terminal.say(`The context ${name} is removed.\n`);
}

function unknown(name: string): CommandError {
  return new CommandError(`There is no context ${name}. tessera context list shows them.`);
}
