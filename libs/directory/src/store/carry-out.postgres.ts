import type { Queryable } from '@tessera/stores';
import { sqlState } from '@tessera/telemetry';
import type { PersonId } from '../ground/person-id.ts';
import { endApplications, restoreApplications } from '../applications/commands.postgres.ts';
import { putIdentities, withholdIdentities } from '../factors/put-identities.postgres.ts';
import { forgetRecoveryCodes, putPasskeys, withholdPasskeys } from '../factors/put-passkeys.postgres.ts';
import { putTotps } from '../factors/put-totps.postgres.ts';
import { putJudgements } from '../providers/judge-emails.postgres.ts';
import { judgedPeople, type JudgedPerson } from '../providers/judge-emails.ts';
import { readProviders } from '../providers/read.postgres.ts';
import { listedKinds, recordKinds, type ListedKind } from '../record-kinds.ts';
import { deleteTenant, endTenant, putTenant } from '../tenants/commands.postgres.ts';
import { endPeople, restoreUsers } from '../users/commands.postgres.ts';
import { readProvenEmails } from '../users/email-proof.postgres.ts';
import { identityOf } from '../factors/declared-identity.ts';
import { waysTakenBack, withdrawnWays } from '../plans/lost-ways.ts';
import { endsOf, putOf, type Difference, type TenantPlan } from '../plans/plan.ts';
import type { AuditRuntime } from '../ground/audit-rows.postgres.ts';
import { concludeChange } from '../ground/conclude-change.postgres.ts';
import type { Command, Write } from '../ground/command.ts';
import type { DecidedChange } from './store.ts';

/** Another tenant took a unique value after this change had looked: the change has to be decided again. */
export class TakenMeanwhile extends Error {
  override readonly name = 'TakenMeanwhile';
}

/** How often a change is decided if other tenants take its unique values, or free them again, meanwhile. */
const attempts = 3;

export async function againIfTakenMeanwhile<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      const isTaken = error instanceof TakenMeanwhile || sqlState(error) === uniqueViolation;
      if (!isTaken || count === attempts) throw error;
    }
  }
}

/** SQLSTATE: another transaction committed the same key, such as a client ID. */
const uniqueViolation = '23505';

/** Tells a person that somebody else changed how they sign in, in the transaction of the change. */
export type AnnounceToPerson = (
  tx: Queryable,
  person: PersonId,
  change: 'password-set' | 'passkey-removed' | 'provider-unlinked',
) => Promise<void>;

/** What a plan is carried out with; without `announce` nobody is told of what changes for them. */
export interface PlanRuntime extends AuditRuntime {
  readonly announce?: AnnounceToPerson;
  readonly sharedIssuer?: string | undefined;
}

/** Runs the commands of a plan, and concludes it: people are told of what others change for them. */
export async function carryOut(
  tx: Queryable,
  runtime: PlanRuntime,
  { plan, changes, events, tell }: DecidedChange,
): Promise<void> {
  if (events.length === 0) return;
  const { tenantId } = plan.desired.tenant;
  const write: Write = (name, text, ...given) =>
    tx.query({ name: `directory.${name}`, text, values: [tenantId, ...given] });
  for (const command of commandsOf(plan)) await command(write);
  // Once people are put, with what is said of their addresses.
  const judged = await judgedBy(tx, plan);
  if (judged.length > 0) await putJudgements(judged)(write);
  await concludeChange(tx, runtime, {
    events,
    async tell() {
      await tell?.();
      for (const { before, after } of plan.users.updated) {
        if (before.passwordHash === after.passwordHash) continue;
        await runtime.announce?.(tx, { tenantId, userId: after.userId }, 'password-set');
      }
      for (const { userId, provider } of waysTakenBack(plan))
        await runtime.announce?.(
          tx,
          { tenantId, userId },
          provider === '' ? 'passkey-removed' : 'provider-unlinked',
        );
    },
    changes,
  });
}

/** Who is judged by a change of providers or, of restored people, by the providers that the tenant has now. */
async function judgedBy(
  tx: Queryable,
  { restores, users, judged, desired }: TenantPlan,
): Promise<readonly JudgedPerson[]> {
  if (!restores || users.created.length === 0) return judged;
  const { tenantId } = desired.tenant;
  const ids = users.created.map(({ userId }) => userId);
  const proven = await readProvenEmails(tx, tenantId, ids);
  return proven.length === 0 ? [] : judgedPeople(users.created, proven, await readProviders(tx, tenantId));
}

/** Kinds that refer to others, or are referred to. */
const ordered: readonly ListedKind[] = ['role', 'provider', 'resource', 'application', 'user'];

/**
 * The commands that carry out a plan. The order keeps every foreign key: referrers are deleted before and created after
 * what they refer to; a unique value is freed before it is used again.
 */
function commandsOf(plan: TenantPlan): Command[] {
  const { desired, tenant, users, applications, restores } = plan;
  const { totps = [], passkeys = [], bound = [] } = plan;
  const withdrawn = withdrawnWays(plan);
  const ends = endsOf(plan);
  const ifAny = <T>(command: (records: readonly T[]) => Command, records: readonly T[]) =>
    records.length === 0 ? [] : [command(records)];
  const put = (kind: ListedKind) =>
    ifAny<never>(recordKinds[kind].put, putOf(plan[recordKinds[kind].list] as Difference<never>));
  const remove = (kind: ListedKind) =>
    ifAny<never>(recordKinds[kind].remove, plan[recordKinds[kind].list].deleted as never[]);
  const others = listedKinds.filter((kind) => !ordered.includes(kind));
  return [
    ...(tenant === 'created' || tenant === 'updated' ? [putTenant(desired.tenant)] : []),
    ...(ends.tenant ? [endTenant()] : []),
    ...others.flatMap((kind) => [...put(kind), ...remove(kind)]),
    ...put('role'),
    ...remove('provider'),
    ...put('provider'),
    ...put('resource'),
    ...remove('resource'),
    ...remove('application'),
    ...put('application'),
    ...ifAny(
      endApplications,
      ends.applications.map(({ clientId }) => clientId),
    ),
    ...ifAny(restoreApplications, restores ? applications.created : []),
    ...remove('user'),
    ...put('user'),
    ...ifAny(putTotps, totps),
    ...ifAny(
      withholdPasskeys,
      withdrawn.flatMap(({ userId, passkeys: ids }) => ids.map((credentialId) => ({ credentialId, userId }))),
    ),
    ...ifAny(putPasskeys, passkeys),
    ...ifAny(
      forgetRecoveryCodes,
      withdrawn.filter((ways) => ways.passkeys.length > 0).map(({ userId }) => userId),
    ),
    ...ifAny(
      withholdIdentities,
      withdrawn.flatMap(({ userId, identities }) =>
        identities.map((text) => ({ ...identityOf(text), userId })),
      ),
    ),
    ...ifAny(putIdentities, bound),
    ...ifAny(
      endPeople,
      ends.people.map(({ userId }) => userId),
    ),
    ...ifAny(restoreUsers, restores ? users.created : []),
    ...remove('role'),
    ...(tenant === 'deleted' ? [deleteTenant()] : []),
  ];
}
