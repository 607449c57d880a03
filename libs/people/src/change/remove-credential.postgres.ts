import type { AuditEvent } from '@tessera/audit';
import type { PersonId } from '@tessera/directory/ground';
import type { Queryable } from '@tessera/stores';
import type { ChangeRuntime } from '../mail/announce.ts';
import { changePerson } from './change-person.postgres.ts';
import { factorsOfUser, forgetFactors } from './factors.postgres.ts';

/** One of the things that a person signs in with. */
export interface Credential {
  readonly kind: 'passkey' | 'provider' | 'totp';
  /** The credential ID of a passkey, the name of a provider; empty for the app, of which there is one. */
  readonly id: string;
}

const rowsOf = {
  passkey: 'directory.passkey WHERE tenant_id = $1 AND user_id = $2 AND credential_id = $3',
  provider: 'directory.provider_identity WHERE tenant_id = $1 AND user_id = $2 AND provider = $3',
  totp: 'directory.totp WHERE tenant_id = $1 AND user_id = $2',
} as const;

const lettersOf = {
  passkey: 'passkey-removed',
  provider: 'provider-unlinked',
  totp: 'totp-removed',
} as const;

function valuesOf({ tenantId, userId }: PersonId, { kind, id }: Credential): string[] {
  return kind === 'totp' ? [tenantId, userId] : [tenantId, userId, id];
}

/** Whether a person has it. */
export async function hasCredential(
  tx: Queryable,
  person: PersonId,
  credential: Credential,
): Promise<boolean> {
  const { kind } = credential;
  const { rows } = await tx.query({
    name: `directory.has_${kind}`,
    text: `SELECT FROM ${rowsOf[kind]}`,
    values: valuesOf(person, credential),
  });
  return rows.length > 0;
}

/**
 * Removes it, and ends what was issued to the person before: the finder of a lost device, or the owner of the account
 * at the provider, may be signed in with it. Recovery codes go with the last second factor. To be called last in a
 * transaction that has the row of the person. Returns from when sign-ins count, in seconds since the Unix epoch;
 * undefined if the person has no such credential.
 * @param by who removes it, and the request
 */
export async function removeCredential(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  { credential, by }: { readonly credential: Credential; readonly by: Partial<AuditEvent> },
): Promise<number | undefined> {
  const { kind, id } = credential;
  const { rowCount } = await tx.query({
    name: `directory.remove_${kind}`,
    text: `DELETE FROM ${rowsOf[kind]}`,
    values: valuesOf(person, credential),
  });
  if (rowCount === 0) return undefined;
  const isFactor = kind !== 'provider';
  if (isFactor && (await factorsOfUser(tx, person)).length === 0)
    await forgetFactors(tx, [person], ['recovery_code']);
  const { tenantId, userId: subject } = person;
  const what = isFactor
    ? { event: 'auth.factor.removed', details: { factor: kind } }
    : { event: 'auth.provider.unlinked', details: { provider: id } };
  const event = { ...by, ...what, outcome: 'success', tenantId, subject } as const;
  return changePerson(tx, runtime, person, { ends: 'all', events: [event], letters: [lettersOf[kind]] });
}
