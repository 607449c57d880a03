import { orEnvironment } from '../options.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { environmentContext, localContext, readContexts, type NamedContext } from './context-file.ts';
import { apiVariable, contextOfEnvironment, refuseWithoutApi } from './context-of-environment.ts';

/**
 * The name of the context that the command line or the environment chooses, by `TESSERA_CONTEXT` or `TESSERA_API`;
 * undefined: the current one.
 */
export function namedContext(terminal: Pick<Terminal, 'reach' | 'environment'>): string | undefined {
  const { reach, environment } = terminal;
  const named = reach?.().context ?? (environment['TESSERA_CONTEXT'] || undefined);
  return named ?? (orEnvironment(undefined, apiVariable, terminal) ? environmentContext : undefined);
}

/**
 * The context to work with: the one that is named, else the current one; undefined without any, and for `local`. Throws
 * CommandError for an unknown name, and if none is named and the environment says who asks an API.
 */
export async function chosenContext(terminal: Terminal): Promise<NamedContext | undefined> {
  const named = namedContext(terminal);
  if (named === localContext) return undefined;
  if (named === environmentContext) return contextOfEnvironment(terminal);
  const { current, contexts } = await readContexts(terminal);
  const name = named ?? current;
  if (named === undefined) refuseWithoutApi(terminal, { takesToken: current !== undefined });
  if (name === undefined) return undefined;
  const found = contexts[name];
  if (found !== undefined) return { name, ...found };
  throw new CommandError(
    `There is no context ${name}. tessera context list shows them; tessera login makes one.`,
  );
}
