import type { AuditEvent } from '@tessera/audit';
import type { Queryable } from '@tessera/stores';
import { concludeChange, type PersonId, personValidFrom } from '@tessera/directory/ground';
import type { AnnouncedChange, ChangeRuntime } from '../mail/announce.ts';

/** What a change of a person does besides what it changes. */
export interface PersonChange {
  /**
   * As in the table of endings: `all` ends what was issued to them before; after `renewed` other services read them
   * again; `nothing` is of what no other service knows.
   */
  readonly ends: 'all' | 'renewed' | 'nothing';
  /** With `all`: browsers of sign-ins that ended with it are known no more. */
  readonly locksDown?: true;
  /** What happened, in its order. */
  readonly events: readonly AuditEvent[];
  /** What they are told by mail. */
  readonly letters?: readonly AnnouncedChange[];
}

/**
 * Concludes a change of a person that no plan of records carries out; to be called last in a transaction that has the
 * lock of the tenant together with others, and then the row of the person: what was issued ends, then as
 * `concludeChange`. Returns from when sign-ins count, in seconds since the Unix epoch, if that ends all.
 */
export async function changePerson(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  change: PersonChange & { readonly ends: 'all' },
): Promise<number>;
export async function changePerson(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  change: PersonChange,
): Promise<number | undefined>;
export async function changePerson(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  { ends, locksDown, events, letters = [] }: PersonChange,
): Promise<number | undefined> {
  const { tenantId, userId: id } = person;
  const validFrom = ends === 'all' ? await endSignIns(tx, person) : undefined;
  if (locksDown === true) await noteLockdown(tx, person);
  await concludeChange(tx, runtime, {
    events,
    async tell() {
      for (const letter of letters) await runtime.announce(tx, person, letter);
    },
    changes:
      ends === 'nothing' ? [] : [{ kind: 'user', tenantId, id, ...(ends === 'all' && { endsAll: true }) }],
  });
  return validFrom;
}

async function endSignIns(tx: Queryable, { tenantId, userId }: PersonId): Promise<number> {
  const { rows } = await tx.query<{ valid_from: number }>({
    name: 'directory.end_sign_ins',
    text: `UPDATE directory.user_account u SET valid_from = ${personValidFrom('u')}, updated_at = clock_timestamp()
            WHERE tenant_id = $1 AND user_id = $2 RETURNING valid_from::float8 AS valid_from`,
    values: [tenantId, userId],
  });
  const [ended] = rows;
  if (ended === undefined) throw new Error('a locked person is gone');
  return ended.valid_from;
}

async function noteLockdown(tx: Queryable, { tenantId, userId }: PersonId): Promise<void> {
  await tx.query({
    name: 'directory.note_lockdown',
    text: `UPDATE directory.user_account SET locked_down_at = valid_from WHERE tenant_id = $1 AND user_id = $2`,
    values: [tenantId, userId],
  });
}
