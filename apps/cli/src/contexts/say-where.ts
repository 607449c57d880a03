import type { Terminal } from '../terminal.ts';
import { environmentContext, type NamedContext } from './context-file.ts';
import { apiVariable } from './context-of-environment.ts';

/** How messages call the database that commands work on. */
export const theDatabase = 'the database of DATABASE_URL';

/** Whether the command is told to work on that database. */
export function isDirect({ reach }: Pick<Terminal, 'reach'>): boolean {
  return reach?.().direct === true;
}

/** How messages call the installation of a context. */
export function installationOf({ name, api }: Pick<NamedContext, 'name' | 'api'>): string {
  return `${api} (${name === environmentContext ? apiVariable : `context ${name}`})`;
}

/**
 * Says, once in a run, on which installation the command works, and in which tenant if the command line does not name
 * it.
 * @param installation as a sentence says it
 */
export function sayWhere(
  installation: string,
  { reach, sayOnce }: Pick<Terminal, 'reach' | 'sayOnce'>,
): void {
  const { tenant } = reach?.() ?? {};
  sayOnce?.(`On ${installation}${tenant === undefined ? '' : `, tenant ${tenant}`}.\n`);
}
