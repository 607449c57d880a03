import { Code, ConnectError, operatorRemedy, type CallOptions } from '@tessera/rpc/caller';
import { isGiven, isPeerGiven, processConfig } from '@tessera/process/settings';
import { chosenContext, namedContext } from '../../contexts/chosen-context.ts';
import { refuseWithoutApi } from '../../contexts/context-of-environment.ts';
import { installationOf, isDirect, sayWhere, theDatabase } from '../../contexts/say-where.ts';
import { orExplain, settings } from '../../settings.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import type { ServiceName } from './in-database.ts';
import { attempt, type ClientOf, type ServiceWork } from './service-work.ts';

export type { ClientOf } from './service-work.ts';

/**
 * Works with a service. With a context: by the administration API, as who is logged in. Without: calls its processes as
 * `operator` if `TESSERA_PEERS` names them; otherwise takes the current context; otherwise calls the process with
 * embedded stores whose data directory is `TESSERA_DATA_DIR`. With `--direct` alone it calls nobody, and builds the
 * service on the database of `DATABASE_URL`, whose processes notice the changes. Work that changes something says first
 * which of them it is, unless `--context` does; other work says it with its error. Throws CommandError, also if the
 * service refuses.
 */
export async function withService<T>(
  name: ServiceName,
  terminal: Terminal,
  work: ServiceWork<T>,
): Promise<T> {
  return saying(work, terminal, () => reach(name, terminal, work));
}

/** Works with what the administration API alone serves, as it asks several services. Throws as `withService`. */
export async function withAdministration<T>(terminal: Terminal, work: ServiceWork<T>): Promise<T> {
  return saying(work, terminal, () => overApi(terminal, work, ''));
}

async function saying<T>(
  { name, progress = () => name }: Pick<ServiceWork<T>, 'name' | 'progress'>,
  { waiting }: Terminal,
  work: () => Promise<T>,
): Promise<T> {
  const line = waiting?.(progress);
  try {
    return await work();
  } finally {
    line?.end();
  }
}

async function reach<T>(name: ServiceName, terminal: Terminal, work: ServiceWork<T>): Promise<T> {
  const { environment } = terminal;
  const named = namedContext(terminal);
  if (isDirect(terminal)) {
    if (named !== undefined)
      throw new CommandError(
        '--direct works on a database, and a context (--context, TESSERA_CONTEXT, TESSERA_API) on an API. Choose one.',
        2,
      );
    if (!isGiven(environment, 'DATABASE_URL')) throw new CommandError('--direct needs DATABASE_URL.', 2);
    const { inDatabase } = await import('./in-database.ts');
    return sayingWhere(theDatabase, terminal, work, () => inDatabase(name, terminal, work));
  }
  if (named === undefined && isPeerGiven(environment, name)) {
    refuseWithoutApi(terminal, { takesToken: false });
    const { byCall } = await import('./by-call.ts');
    return sayingWhere('the processes of TESSERA_PEERS', terminal, work, () => byCall(name, terminal, work));
  }
  return overApi(terminal, work, ' or TESSERA_PEERS');
}

/** By the context, or beside the process whose data directory is at hand. */
async function overApi<T>(terminal: Terminal, work: ServiceWork<T>, orElse: string): Promise<T> {
  const context = await chosenContext(terminal);
  if (context === undefined) return besideEmbeddedStores(terminal, work, orElse);
  const { withContext } = await import('../../contexts/with-context.ts');
  const { clientOf, run } = await withContext(context, terminal, work.run);
  return sayingWhere(installationOf(context), terminal, work, () => attempt({ ...work, run }, clientOf));
}

async function sayingWhere<T>(
  installation: string,
  terminal: Terminal,
  { changes, saysWhere = changes }: Pick<ServiceWork<T>, 'changes' | 'saysWhere'>,
  work: () => Promise<T>,
): Promise<T> {
  const { context, tenant } = terminal.reach?.() ?? {};
  const isSaid = context !== undefined && tenant === undefined;
  if (saysWhere && !isSaid) sayWhere(installation, terminal);
  try {
    return await work();
  } catch (error) {
    const isRefused = error instanceof CommandError && error.exitCode !== 2;
    if (isRefused && !isSaid) sayWhere(installation, terminal);
    throw error;
  }
}

async function besideEmbeddedStores<T>(terminal: Terminal, work: ServiceWork<T>, orElse: string): Promise<T> {
  const { TESSERA_DATA_DIR: directory } = orExplain(() => settings(processConfig, terminal.environment));
  const { findAdministration } = await import('@tessera/admin/command');
  const found = await findAdministration(directory).catch((error: unknown) => {
    throw new CommandError(error instanceof Error ? error.message : `${directory} cannot be read.`);
  });
  const inDatabase =
    orElse !== '' && isGiven(terminal.environment, 'DATABASE_URL')
      ? ' Where nobody serves, --direct works on the database of DATABASE_URL.'
      : '';
  const remedy = `Start Tessera there (npm start), log in elsewhere (tessera login), or set TESSERA_DATA_DIR${orElse}.${inDatabase}`;
  if (found === undefined)
    throw new CommandError(`No process serves the data directory ${directory}. ${remedy}`);
  const { target } = found;
  const { proveAdministration } = await import('../../at-hand/prove-administration.ts');
  const token = await proveAdministration(found, terminal).catch((error: unknown) => {
    throw new CommandError(
      `The process of the data directory ${directory} does not answer: ${error instanceof Error ? error.message : 'unknown'} ${remedy}`,
    );
  });
  const { connectClients } = await import('../../contexts/connect-clients.ts');
  const reached = async (clientOf: ClientOf, call: CallOptions): Promise<T> => {
    try {
      return await work.run(clientOf, call);
    } catch (error) {
      const isSilent = error instanceof ConnectError && error.code === Code.Unavailable;
      if (!isSilent || operatorRemedy(error) !== undefined) throw error;
      throw new CommandError(
        `The process of the data directory ${directory} does not answer: ${error.rawMessage}. ${remedy}`,
      );
    }
  };
  const clientOf = connectClients({ url: `http://${target}`, token, asOperator: true });
  return sayingWhere(`the process of ${directory}`, terminal, work, () =>
    attempt({ ...work, run: reached }, clientOf),
  );
}

/** Replaces a NOT_FOUND by the command's own message. */
export function orNotFound(sentence: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ConnectError && error.code === Code.NotFound ? new CommandError(sentence) : error;
  };
}
