import { CommandError, type Terminal } from '../../terminal.ts';
import type { Place } from './browser.ts';
import { crossingsOf, type Crossing } from './crossings.ts';
import { createParty } from './party.ts';
import { createTenants, deleteTenants, newTenants } from './throw-away-tenants.ts';

/** Within which a change is in effect everywhere. */
const effectMs = 1000;

/**
 * Creates two tenants and tries, over public HTTP, what one could do with values of the other: all must be refused as unknown values
 * are. Deletes the tenants, whatever happened. Throws CommandError, which names every crossing that was not refused.
 */
export async function checkIsolation(place: Place, terminal: Terminal): Promise<void> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  const tenants = newTenants();
  try {
    await createTenants(tenants, terminal);
    await terminal.sleep(effectMs);
    const [a, b] = tenants.map((tenant) => createParty(tenant, place, terminal));
    if (a === undefined || b === undefined) throw new Error('there are two tenants');
    await tryAll(crossingsOf(a, b), interrupted.signal, terminal);
  } finally {
    await deleteTenants(tenants, terminal);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
  }
}

async function tryAll(
  crossings: readonly Crossing[],
  interrupted: AbortSignal,
  terminal: Terminal,
): Promise<void> {
  let refused = 0;
  for (const crossing of crossings) {
    if (interrupted.aborted) throw new CommandError('Interrupted.');
    const problem = await problemOf(crossing);
    if (problem === undefined) refused += 1;
    terminal.say(problem === undefined ? `good  refused: ${crossing.sentence}\n` : `bad   ${problem}\n`);
  }
  const bad = crossings.length - refused;
  if (bad > 0)
    throw new CommandError(`${bad} of ${crossings.length} crossings were not refused as they must be.`);
}

/** Why a crossing is not good; undefined if it is. */
async function problemOf({ sentence, attempt }: Crossing): Promise<string | undefined> {
  try {
    const { unknown, crossed, own } = await attempt();
    if (crossed !== unknown) return `${sentence}: answered "${crossed}", an unknown value "${unknown}"`;
    return own === unknown ? `${sentence}: not known, as its owner is answered "${own}" too` : undefined;
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    return `${sentence}: not known, ${error.message}`;
  }
}
