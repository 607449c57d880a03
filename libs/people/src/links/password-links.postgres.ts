import type { Database, Queryable } from '@tessera/stores';
import {
  areActive,
  isAdministered,
  isOpenLink,
  noteAdministered,
  lockTenant,
  type PersonId,
} from '@tessera/directory/ground';
import { newPassword } from '../password/change-password.postgres.ts';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';
import { passwordLinks } from '../one-time/one-time-values.postgres.ts';
import { mailedAs, proveMailedAddress } from './mailed-links.postgres.ts';

/**
 * An `invitation` is for a person who has no password, a `reset` for anybody, `bootstrap` for the first administrator,
 * as long as the tenant has never been administered.
 */
export type LinkPurpose = 'invitation' | 'reset' | 'bootstrap';

/** The person whose password a link sets. */
export interface LinkedPerson {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly userId: string;
  readonly username: string;
  readonly purpose: LinkPurpose;
}

/** A link as it is presented. */
export interface PresentedLink {
  /** SHA-256 of the link. */
  readonly digest: Buffer;
  /** The tenant at whose own issuer it is presented; empty at the shared issuer. */
  readonly tenantId: string;
}

/** SQL: whether a link works, for who has it. */
export const works = `(${isOpenLink('l', 'u', 't')} AND ${areActive('u', 't')}
  AND (l.purpose <> 'bootstrap' OR NOT ${isAdministered('l.tenant_id')}))`;

/** SQL: whether a link may be used. $1: digest, $2: tenant of the issuer. */
export const usable = `
  l.digest = $1 AND ${works}
  AND CASE WHEN $2::text = '' THEN t.issuer = '' ELSE t.tenant_id = $2 END`;

/** SQL: a link (`l`), its person (`u`) and its tenant (`t`). */
export const linked = `
  directory.password_link l
  JOIN directory.user_account u ON u.tenant_id = l.tenant_id AND u.user_id = l.user_id
  JOIN directory.tenant t ON t.tenant_id = l.tenant_id`;

/**
 * Keeps a link in place of an earlier one with its purpose. Call it with the lock on the row of the person. Returns
 * when it expires, in seconds since the Unix epoch.
 */
export async function putLink(
  tx: Queryable,
  link: {
    readonly tenantId: string;
    readonly userId: string;
    readonly purpose: LinkPurpose;
    readonly digest: Buffer;
    readonly lifetimeSeconds: number;
    /** The address that it is mailed to; undefined if it is handed out. */
    readonly mailedTo: string | undefined;
  },
): Promise<number> {
  const { tenantId, userId, purpose, digest, lifetimeSeconds, mailedTo } = link;
  const { rows } = await tx.query<{ valid_from: string }>({
    name: 'directory.find_link_valid_from',
    text: `SELECT greatest(u.valid_from, t.valid_from)::text AS valid_from
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('The person of the link does not exist.');
  return passwordLinks.put(tx, {
    tenantId,
    holder: { user_id: userId, purpose },
    digest,
    kept: { ...row, mailed: mailedAs(digest, mailedTo) },
    lifetimeSeconds,
  });
}

/** Ends the links of a purpose in a tenant. */
export async function endLinks(tx: Queryable, tenantId: string, purpose: LinkPurpose): Promise<void> {
  await tx.query({
    name: 'directory.end_password_links',
    text: 'DELETE FROM directory.password_link WHERE tenant_id = $1 AND purpose = $2',
    values: [tenantId, purpose],
  });
}

/**
 * Undefined for a link that is unknown, used, expired, no longer valid, or of a tenant that the issuer does not serve.
 */
export async function findLink(
  database: Queryable,
  { digest, tenantId }: PresentedLink,
): Promise<LinkedPerson | undefined> {
  const { rows } = await database.query<LinkRow & { tenant_name: string; username: string }>({
    name: 'directory.find_password_link',
    text: `SELECT l.tenant_id, l.user_id, l.purpose, t.name AS tenant_name, u.username FROM ${linked} WHERE ${usable}`,
    values: [digest, tenantId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    tenantId: row.tenant_id,
    tenantName: row.tenant_name,
    userId: row.user_id,
    username: row.username,
    purpose: row.purpose,
  };
}

/** A link that is used up, with the person who followed it. */
interface TakenLink extends PersonId {
  readonly purpose: LinkPurpose;
  /** What was said of the mail when it was made, and the address that the person has. */
  readonly sent: { readonly mailed: string; readonly email: string };
}

/**
 * Uses a link up, with the lock on the row of its person, as by every other change of the person. Undefined if another
 * call was faster, or the link is no longer valid.
 * @param condition SQL: as `usable`, which it contains
 */
export async function takeLink(
  tx: Queryable,
  { digest, tenantId }: PresentedLink,
  { kind, condition }: { readonly kind: string; readonly condition: string },
): Promise<TakenLink | undefined> {
  const { rows } = await tx.query<LinkRow & TakenLink['sent']>({
    name: `directory.lock_person_of_${kind}`,
    text: `SELECT l.tenant_id, l.user_id, l.purpose, l.mailed, u.email FROM ${linked} WHERE ${condition} FOR UPDATE OF u`,
    values: [digest, tenantId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  const { tenant_id: of, user_id: userId, purpose, mailed, email } = row;
  const isTaken = await passwordLinks.take(tx, {
    tenantId: of,
    holder: { user_id: userId, purpose },
    digest,
  });
  return isTaken ? { tenantId: of, userId, purpose, sent: { mailed, email } } : undefined;
}

/**
 * Uses up a link, sets the password of its person and ends what was issued to them before, in one commit. False if
 * another call was faster, or the link is no longer valid.
 */
export async function redeemLink(
  database: Database,
  runtime: ChangeRuntime,
  {
    digest,
    tenantId: at,
    person,
    passwordHash,
    ...origin
  }: PresentedLink & {
    readonly person: Pick<LinkedPerson, 'tenantId' | 'purpose'>;
    readonly passwordHash: string;
    readonly ipAddress: string;
    readonly requestId: string;
  },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    // Of several first administrators, one becomes it.
    await lockTenant(tx, person.tenantId, person.purpose === 'bootstrap' ? 'alone' : 'together');
    const used = await takeLink(tx, { digest, tenantId: at }, { kind: 'password_link', condition: usable });
    if (used === undefined) return false;
    const { purpose, sent, ...holder } = used;
    const { tenantId, userId: subject } = holder;
    await tx.query({
      name: 'directory.set_password_by_link',
      text: `UPDATE directory.user_account u SET ${newPassword('$3')} WHERE u.tenant_id = $1 AND u.user_id = $2`,
      values: [tenantId, subject, passwordHash],
    });
    const proven = await proveMailedAddress(tx, holder, { ...origin, ...sent, digest });
    await noteAdministered(tx, tenantId);
    await changePerson(tx, runtime, holder, {
      ends: 'all',
      events: [
        eventOf(holder, origin, 'auth.link.used', { purpose }),
        eventOf(holder, origin, 'auth.credential.changed'),
        ...proven,
      ],
      // Invited people had no password.
      letters: purpose === 'reset' ? ['password'] : [],
    });
    return true;
  });
}

interface LinkRow {
  readonly tenant_id: string;
  readonly user_id: string;
  readonly purpose: LinkPurpose;
}
