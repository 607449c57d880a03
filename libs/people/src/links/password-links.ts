import { eventBase, type AuditEvent } from '@tessera/audit';
import { opaqueValue, type Clock, type Random } from '@tessera/kit';
import { Code, ConnectError, type CallContext } from '@tessera/rpc';
import type { Database, Queryable } from '@tessera/stores';
import {
  newPasswordProblem,
  type Passwords,
  notFound,
  refuseOtherVersion,
  insertAuditRows,
  lockTenant,
  signInSource,
} from '@tessera/directory/ground';
import { lockRecord, type TenantRecord, findTenant } from '@tessera/directory/records';
import { requireMail } from '../mail/no-mail.ts';
import type { Announce } from '../mail/announce.ts';
import type { Outbox } from '../mail/outbox.ts';
import { digestOf } from '../one-time/one-time-values.postgres.ts';
import {
  findLink,
  putLink,
  redeemLink,
  type LinkedPerson,
  type LinkPurpose,
} from './password-links.postgres.ts';

export interface PasswordLinksDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  readonly announce: Announce;
  readonly passwords: Passwords;
  /** In characters. */
  readonly passwordMinLength: number;
  /** Undefined if no mail is sent. */
  readonly outbox: Outbox | undefined;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** The link that a person opened. */
export interface OpenedLink {
  readonly link: string;
  /** The tenant at whose own issuer it was opened; empty at the shared issuer. */
  readonly tenantId: string;
}

/** One-time links with which people set their passwords, so that nobody else ever knows one. */
export interface PasswordLinks {
  /**
   * Makes a link in place of an earlier one with its purpose. Throws ConnectError for an unknown or inactive person,
   * and for an invitation to a person who has a password, Aborted for another version than `etag`, unless that is
   * empty. With `validateOnly` it makes none. With `mail` it goes to the person and is not returned.
   */
  create(
    request: {
      readonly tenantId: string;
      readonly userId: string;
      readonly purpose: Exclude<LinkPurpose, 'bootstrap'>;
      readonly etag?: string;
      readonly validateOnly: boolean;
      readonly mail?: boolean;
    },
    context: CallContext,
  ): Promise<CreatedLink | undefined>;
  /**
   * Makes a link in a transaction that holds the lock of the tenant, for a person of it who may have one, with its
   * audit row.
   */
  add(
    tx: Queryable,
    person: {
      readonly tenant: TenantRecord;
      readonly userId: string;
      readonly purpose: LinkPurpose;
      /** A new one if it is absent. */
      readonly link?: string;
      /** The address that it is mailed to, and handed out nowhere else. */
      readonly mailedTo?: string;
    },
    origin: Pick<AuditEvent, 'actor' | 'requestId' | 'ipAddress'>,
  ): Promise<CreatedLink>;
  /**
   * Whose password a link sets; undefined for one that is unknown, used, expired or no longer valid, or of another
   * issuer's tenant.
   */
  find(opened: OpenedLink): Promise<LinkedPerson | undefined>;
  /**
   * Sets the password, once. Throws `temporarily_unavailable` if too many passwords are being hashed. Returns `unknown`
   * as `find` returns undefined, and otherwise why the person may not have this password, as the end of a sentence.
   */
  redeem(
    request: OpenedLink & { readonly password: string; readonly ipAddress: string },
    context: Pick<CallContext, 'requestId' | 'signal'>,
  ): Promise<'set' | 'unknown' | { readonly problem: string }>;
}

export interface CreatedLink {
  readonly link: string;
  readonly tenantIssuer: string;
  /** Seconds since the Unix epoch. */
  readonly expiresAt: number;
}

/** An invitation waits for somebody who does not expect it; whoever asked for a reset is there. */
const lifetimeSeconds = {
  invitation: 7 * 24 * 3600,
  reset: 3600,
  bootstrap: 24 * 3600,
} as const satisfies Record<LinkPurpose, number>;

export function createPasswordLinks({
  database,
  passwords,
  passwordMinLength,
  outbox,
  onChange,
  ...runtime
}: PasswordLinksDeps): PasswordLinks {
  const find = async ({ link, tenantId }: OpenedLink) =>
    findLink(database, { digest: digestOf(link), tenantId });

  const add: PasswordLinks['add'] = async (
    tx,
    { tenant, userId, purpose, link = opaqueValue('tl_', runtime.random), mailedTo },
    origin,
  ) => {
    const { tenantId } = tenant;
    const expiresAt = await putLink(tx, {
      tenantId,
      userId,
      purpose,
      digest: digestOf(link),
      lifetimeSeconds: lifetimeSeconds[purpose],
      mailedTo,
    });
    const event = { event: 'auth.link.created', outcome: 'success', details: { purpose } } as const;
    await insertAuditRows(tx, [{ ...origin, ...event, tenantId, subject: userId }], runtime);
    return { link, tenantIssuer: tenant.issuer, expiresAt };
  };

  return {
    find,
    add,

    async create({ tenantId, userId, purpose, etag = '', validateOnly, mail = false }, context) {
      return database.transaction(async (tx) => {
        await lockTenant(tx, tenantId, 'together');
        const tenant = await findTenant(tx, tenantId);
        if (tenant === undefined) throw notFound('The tenant');
        const found = await lockRecord(tx, 'user', tenantId, userId);
        if (found === undefined) throw notFound('The user');
        refuseOtherVersion('The user', etag, found.etag);
        if (tenant.status !== 'active') throw refused('The tenant is not active.');
        if (found.record.status !== 'active') throw refused('The user is not active.');
        if (purpose === 'invitation' && found.record.passwordHash !== undefined)
          throw refused('The user has a password. Create a link with the purpose reset.');
        if (mail) requireMail(outbox, found.record.email);
        if (validateOnly) return undefined;
        const made = { tenant, userId, purpose };
        if (!mail || outbox === undefined) return add(tx, made, eventBase(context));
        const mailId = outbox.newId();
        const mailed = { link: outbox.linkOf(mailId), mailedTo: found.record.email };
        await add(tx, { ...made, ...mailed }, eventBase(context));
        const kept = { tenantId, userId, kind: purpose, content: {} } as const;
        await outbox.add(tx, { ...kept, lifetimeSeconds: lifetimeSeconds[purpose] }, mailId);
        return undefined;
      });
    },

    async redeem({ password, ipAddress, ...opened }, { requestId, signal }) {
      const person = await find(opened);
      if (person === undefined) return 'unknown';
      const problem = newPasswordProblem(password, passwordMinLength);
      if (problem !== undefined) return { problem };
      const source = signInSource(person.tenantId, person.userId, ipAddress);
      const passwordHash = await passwords.chosen(password, source, signal);
      const presented = { digest: digestOf(opened.link), tenantId: opened.tenantId };
      const use = { ...presented, person, passwordHash, ipAddress, requestId };
      if (!(await redeemLink(database, runtime, use))) return 'unknown';
      onChange();
      return 'set';
    },
  };
}

function refused(why: string): ConnectError {
  return new ConnectError(why, Code.FailedPrecondition);
}
