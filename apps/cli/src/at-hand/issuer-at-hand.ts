import { orEnvironment } from '../options.ts';
import type { Terminal } from '../terminal.ts';

export const issuerVariable = 'TESSERA_ISSUER';

/** Of `npm start`, unless TESSERA_HTTP_PORT says otherwise. */
const defaultPort = '8080';

/** What `--issuer` is if it is not given, for the help. */
export const issuerDefault = `default: of npm start, or http://localhost:${defaultPort}`;

/**
 * Where people sign in: the one source of it for every command. What is given, else the variable, else the issuer of
 * the process whose data directory is at hand.
 */
export async function issuerOf(
  { issuer }: { readonly issuer?: string | undefined },
  terminal: Terminal,
): Promise<string> {
  const given = orEnvironment(issuer, issuerVariable, terminal);
  if (given) return given;
  const { TESSERA_HTTP_PORT: port } = terminal.environment;
  const found = port ? undefined : await processAtHand(terminal);
  return found?.issuer ?? `http://localhost:${port || defaultPort}`;
}

/**
 * The process whose data directory is at hand, once it has proved that it wrote what lies there: anybody may have made
 * the folder that the command runs in. Undefined without one.
 */
export async function processAtHand(
  terminal: Terminal,
): Promise<{ readonly target: string; readonly issuer?: string | undefined } | undefined> {
  const { findAdministration } = await import('@tessera/admin/command');
  const { proveAdministration } = await import('./prove-administration.ts');
  try {
    const found = await findAdministration(terminal.environment['TESSERA_DATA_DIR'] || '.tessera');
    if (found !== undefined) await proveAdministration(found, terminal);
    return found;
  } catch {
    return undefined;
  }
}
