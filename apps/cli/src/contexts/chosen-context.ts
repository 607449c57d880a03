import { CommandError, type Terminal } from '../terminal.ts';
import { localContext, readContexts, type Context } from './context-file.ts';

export interface NamedContext extends Context {
  readonly name: string;
}

/** The name of the context that the command line or `TESSERA_CONTEXT` chooses; undefined: the current one. */
export function namedContext({
  reach,
  environment,
}: Pick<Terminal, 'reach' | 'environment'>): string | undefined {
  return reach?.().context ?? (environment['TESSERA_CONTEXT'] || undefined);
}

/**
 * The context to work with: the one that is named, else the current one; undefined without any, and for `local`. Throws
 * CommandError for an unknown name.
 */
export async function chosenContext(terminal: Terminal): Promise<NamedContext | undefined> {
  const named = namedContext(terminal);
  if (named === localContext) return undefined;
  const { current, contexts } = await readContexts(terminal);
  const name = named ?? current;
  if (name === undefined) return undefined;
  const found = contexts[name];
  if (found !== undefined) return { name, ...found };
  throw new CommandError(
    `There is no context ${name}. tessera context list shows them; tessera login makes one.`,
  );
}
