import { isDeepStrictEqual } from 'node:util';
import type { EventBase } from '@tessera/audit';
import { insertAuditRows, type AuditRuntime } from '@tessera/directory/ground';
import {
  changesOf,
  eventsOf,
  apiOwner,
  planRecord,
  readRoles,
  type RecordTransaction,
  lockProvider,
} from '@tessera/directory/records';
import type { Identity } from './identities.postgres.ts';
import { mappedClaims, mappedPerson, type MappedClaims } from './mapped-person.ts';

/**
 * Gives a person what the claims of the provider say, unless a file declares the person: then the next apply would undo
 * it.
 */
export async function applyClaims(
  identity: Identity,
  around: RecordTransaction,
  {
    userId,
    mapped,
    by,
    runtime,
  }: {
    readonly mapped: MappedClaims;
    readonly userId: string;
    /** The person themselves. */
    readonly by: EventBase;
    readonly runtime: AuditRuntime;
  },
): Promise<void> {
  const { tx, tenant, tenantId } = around;
  const provider = await lockProvider(tx, tenantId, identity.provider);
  const present = (await around.find('user', userId))?.record;
  if (provider?.issuer !== identity.issuer || present?.owner !== apiOwner) return;
  if (present.status !== 'active') return;
  const unknown = mappedClaims(provider).filter((claim) => !mapped.knownClaims.includes(claim));
  if (unknown.length > 0) {
    const details = { provider: provider.name, claims: unknown.join(' ') };
    const event = { event: 'auth.provider.incomplete', outcome: 'failure', details } as const;
    await insertAuditRows(tx, [{ ...by, ...event, tenantId, subject: userId }], runtime);
  }
  const roles = new Set((await readRoles(tx, tenantId)).map(({ name }) => name));
  const after = mappedPerson(present, provider, mapped, roles);
  if (isDeepStrictEqual(after, present)) return;
  const plan = planRecord(tenant, 'user', present, after);
  await around.carryOut({ plan, changes: changesOf(plan), events: eventsOf(plan, by) });
}
