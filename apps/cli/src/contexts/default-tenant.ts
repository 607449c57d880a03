import { isPeerGiven } from '@tessera/process/settings';
import { orEnvironment } from '../options.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { chosenContext, namedContext } from './chosen-context.ts';
import { isDirect } from './say-where.ts';

const tenantVariable = 'TESSERA_TENANT';

/**
 * The tenant of a command that names none: what the environment says, else that of the context that the command works
 * on; undefined without any. Throws CommandError.
 */
export async function defaultTenant(terminal: Terminal): Promise<string | undefined> {
  const given = orEnvironment(undefined, tenantVariable, terminal);
  if (given) return given;
  // The current context may be of another installation than the one that takes its place.
  const isPassed = namedContext(terminal) === undefined && isElsewhere(terminal);
  const context = isPassed ? undefined : await chosenContext(terminal);
  return context?.tenant ?? context?.defaultTenant;
}

/** As `defaultTenant`, of a command that needs one. */
export async function requiredTenant(terminal: Terminal): Promise<string> {
  const tenant = await defaultTenant(terminal);
  if (tenant !== undefined) return tenant;
  throw new CommandError(
    `Name the tenant: by --tenant, by ${tenantVariable}, or for a context by tessera context use <name> --tenant <id>.`,
    2,
  );
}

function isElsewhere(terminal: Pick<Terminal, 'environment' | 'reach'>): boolean {
  return isDirect(terminal) || isPeerGiven(terminal.environment, 'directory');
}
