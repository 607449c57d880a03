import type { Database, Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { ChangeRuntime } from '../mail/announce.ts';
import { findTotp, insertTotp, totpAdded } from './totp.postgres.ts';
import { changePerson } from '../change/change-person.postgres.ts';
import { factorsOfUser } from '../change/factors.postgres.ts';
import { ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import { codesReplaced, setRecoveryCodes } from '../recovery/recovery-codes.postgres.ts';
import { useChallenge } from '../one-time/used-challenges.postgres.ts';

/** What a page has shown to a person. */
export interface Proposal extends Origin {
  /** The page is known by it. */
  readonly seed: string;
  /** Of the recovery codes. */
  readonly digests: readonly Buffer[];
  /** The app, and the time step of its first code; undefined for the codes alone. */
  readonly totp: { readonly sealed: string; readonly step: number } | undefined;
  /** Whether a stored secret is that of the app. */
  isSealed(sealed: string): Promise<boolean>;
}

/**
 * Stores the app and the recovery codes of a proposal, in one commit and once: a code that was used meanwhile is not
 * valid again. `refused` for a person whose sign-in does not count, or who would have codes alone.
 */
export async function adoptProposal(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { seed, digests, totp, isSealed, ...origin }: Proposal,
): Promise<'adopted' | 'adopted before' | 'superseded' | 'refused'> {
  const { tenantId, userId } = person;
  return ofSignedIn(database, person, 'refused', async (tx) => {
    if (totp === undefined && (await factorsOfUser(tx, person)).length === 0) return 'refused';
    if (!(await useChallenge(tx, tenantId, `recovery-codes\0${userId}\0${seed}`))) {
      const isOurs = totp === undefined || (await hasApp(tx, person, isSealed));
      return isOurs && (await hasAny(tx, person, digests)) ? 'adopted before' : 'superseded';
    }
    if (totp !== undefined && !(await insertTotp(tx, person, totp))) return 'superseded';
    const hadCodes = await setRecoveryCodes(tx, person, digests);
    const codes = codesReplaced(person, origin, hadCodes);
    await changePerson(
      tx,
      runtime,
      person,
      totp === undefined
        ? codes
        : {
            ends: 'renewed',
            events: [totpAdded(person, origin), ...codes.events],
            letters: ['totp-added', ...codes.letters],
          },
    );
    return 'adopted';
  });
}

async function hasApp(tx: Queryable, person: PersonId, isSealed: Proposal['isSealed']): Promise<boolean> {
  const app = await findTotp(tx, person);
  return app !== undefined && isSealed(app.sealed);
}

/** Whether one of these recovery codes is left. */
async function hasAny(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  digests: readonly Buffer[],
): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.has_recovery_code',
    text: `SELECT FROM directory.recovery_code
            WHERE tenant_id = $1 AND user_id = $2
              AND digest IN (SELECT decode(d, 'hex') FROM unnest($3::text[]) AS c(d)) LIMIT 1`,
    values: [tenantId, userId, digests.map((digest) => digest.toString('hex'))],
  });
  return rows.length === 1;
}
