import type { CallOptions } from '@tessera/rpc';
import { withAdministration, type ClientOf } from '../records/with-service.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { administrationRequests } from './administration-requests.ts';
import { administrationOf } from './administration.ts';
import type { Place } from './browser.ts';
import { cross, type GoodRequest } from './crossing.ts';
import { createParty, type Party } from './party.ts';
import { publicRequests } from './public-requests.ts';
import { createTenants, deleteTenants, newTenants } from './throw-away-tenants.ts';

/** Within which a change is in effect everywhere. */
const effectMs = 1000;
const timeoutMs = 30_000;

/**
 * Creates two tenants and tries, over public HTTP and by the administration API, what one could do with values of the
 * other: all must be answered as unknown values are. First both are at the shared issuer; then each has an issuer of
 * its own. Deletes the tenants, whatever happened. Throws CommandError if a crossing is not good; each is named before.
 */
export async function checkIsolation(place: Place, terminal: Terminal): Promise<void> {
  await withAdministration(terminal, {
    name: 'Trying what tenants can do with values of others',
    changes: true,
    timeoutMs,
    run: async (clientOf, call) => check(place, clientOf, call, terminal),
  });
}

async function check(place: Place, clientOf: ClientOf, call: CallOptions, terminal: Terminal): Promise<void> {
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, interrupt);
  const administration = administrationOf(clientOf, call);
  const [ours, theirs] = newTenants();
  const results = { tried: 0, bad: 0 };
  const tryAll = async (requests: readonly GoodRequest<Party>[], one: Party, other: Party): Promise<void> => {
    for (const request of requests) {
      if (interrupted.signal.aborted) throw new CommandError('Interrupted.');
      await tryOne(request, one, other, results, terminal);
    }
  };
  try {
    await createTenants([ours, theirs], administration);
    await terminal.sleep(effectMs);
    const partyAt = (of: typeof ours, where: Place): Party =>
      createParty(of, where, administration, terminal);
    const atShared = [...publicRequests(true), ...administrationRequests(true)];
    await tryAll(atShared, partyAt(ours, place), partyAt(theirs, place));
    const own: Party[] = [];
    for (const tenant of [ours, theirs]) {
      const [issuer, address] = [place.issuer.replace(/\/$/, ''), place.address].map(
        (each) => `${each}/${tenant.id}`,
      );
      const at = { issuer: issuer ?? '', address: address ?? '', tenantId: tenant.id };
      await administration.call('TenantsService.Update', {
        tenantId: tenant.id,
        tenant: { issuer: at.issuer },
      });
      own.push(partyAt(tenant, at));
    }
    await terminal.sleep(effectMs);
    const [one, other] = own as [Party, Party];
    await tryAll([...publicRequests(false), ...administrationRequests(false)], one, other);
  } finally {
    await deleteTenants([ours, theirs], administration, terminal);
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupt);
  }
  const { tried, bad } = results;
  if (bad > 0) throw new CommandError(`${bad} of ${tried} crossings were not refused as they must be.`);
  terminal.say(`${tried} crossings were refused.\n`);
}

async function tryOne(
  request: GoodRequest<Party>,
  ours: Party,
  theirs: Party,
  results: { tried: number; bad: number },
  terminal: Terminal,
): Promise<void> {
  const show = (crossing: string, problem: string | undefined): void => {
    results.tried += 1;
    if (problem !== undefined) results.bad += 1;
    terminal.say(problem === undefined ? `good  refused: ${crossing}\n` : `bad   ${crossing}: ${problem}\n`);
  };
  try {
    for await (const { crossing, problem } of cross(request, ours, theirs)) show(crossing, problem);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    show(request.name, `not known, ${error.message}`);
  }
}
