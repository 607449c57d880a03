import { maySignIn } from '../change/may-sign-in.ts';
import { ownRecord, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import type { Announce } from '../mail/announce.ts';
import type { Outbox } from '../mail/outbox.ts';
import { digestOf, emailLinks } from '../one-time/one-time-values.postgres.ts';
import { Code, ConnectError, invalidFields } from '@tessera/rpc';
import type { Database, Queryable } from '@tessera/stores';
import { notFound, type PersonId, insertAuditRows, type AuditRuntime } from '@tessera/directory/ground';
import {
  changesOf,
  eventsOf,
  apiOwner,
  planRecord,
  type ChangeRecord,
  type DirectoryStore,
  type RecordTransaction,
  mailedLink,
  putEmailProof,
  user,
  type UserRecord,
  normalizeIdentifier,
  namesSharedBy,
  takenIdentifiers,
} from '@tessera/directory/records';

export interface EmailChangesDeps {
  readonly database: Database;
  readonly store: Pick<DirectoryStore, 'findUser'>;
  readonly changeRecord: ChangeRecord;
  readonly outbox: Outbox;
  readonly announce: Announce;
  readonly runtime: AuditRuntime;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** Addresses that people confirm by a link that is mailed there. */
export interface EmailChanges {
  /**
   * Mails a link to an address that the person says is theirs. The answer, and its time, are the same if somebody else
   * has it; it is the same if the address gets too much mail, or the person asks for too much. Throws InvalidArgument
   * for what is no address, NotFound for a person whose sign-in does not count, FailedPrecondition for one whom a file
   * declares.
   */
  propose(
    proposed: SignedInPerson & Origin & { readonly email: string; readonly language: string },
  ): Promise<void>;
  /** The address that a link confirms for the person who is signed in. Throws NotFound for every other link. */
  find(person: PersonId & { readonly link: string }): Promise<string>;
  /**
   * Makes it the person's address, verified, once. Throws NotFound as `find`, and if somebody else has it meanwhile.
   */
  confirm(person: SignedInPerson & Origin & { readonly link: string }): Promise<void>;
}

const linkSeconds = 24 * 3600;

export function createEmailChanges(deps: EmailChangesDeps): EmailChanges {
  const { database, store, changeRecord, outbox, announce, runtime, onChange } = deps;

  /** The person, who stays as they are until the commit. */
  async function changeable(around: RecordTransaction, person: SignedInPerson): Promise<UserRecord> {
    const record = await ownRecord(around, person);
    if (record === undefined) throw notFound('The user');
    if (record.owner !== apiOwner)
      throw new ConnectError('The address is declared in a file.', Code.FailedPrecondition);
    return record;
  }

  return {
    async propose({ tenantId, userId, authTime, email: typed, language, ipAddress, requestId }) {
      const email = typed.trim();
      if (!user.shape.email.safeParse(email).success)
        throw invalidFields([{ field: 'email', description: 'must be an e-mail address' }]);
      await changeRecord(tenantId, 'together', async (around) => {
        await changeable(around, { tenantId, userId, authTime });
        const { tx } = around;
        const event = {
          event: 'user.email.proposed',
          outcome: 'success',
          tenantId,
          subject: userId,
        } as const;
        const actor = { type: 'user', id: userId } as const;
        await insertAuditRows(tx, [{ ...event, actor, ipAddress, requestId }], runtime);
        // Who asks learns neither how much mail the address gets nor, as that is looked at when the mail is sent,
        // whether somebody has it.
        if (!(await outbox.count(tx, tenantId, userId))) return;
        if (!(await outbox.count(tx, tenantId, email))) return;
        const mailId = outbox.newId();
        const link = outbox.linkOf(mailId, 'te_');
        await emailLinks.put(tx, {
          tenantId,
          holder: { user_id: userId },
          digest: digestOf(link),
          kept: { email },
          lifetimeSeconds: linkSeconds,
        });
        const content = { to: email, language: language.slice(0, 35) };
        const kept = { tenantId, userId, kind: 'verification', content } as const;
        await outbox.add(tx, { ...kept, lifetimeSeconds: linkSeconds }, mailId);
      });
    },

    async find({ link, ...person }) {
      const [email, found] = await Promise.all([
        addressOf(database, person, link),
        store.findUser(person.tenantId, person.userId),
      ]);
      if (email === undefined || found === undefined || !maySignIn(found)) throw notFound('The link');
      return email;
    },

    async confirm({ tenantId, userId, authTime, link, ipAddress, requestId }) {
      await changeRecord(tenantId, 'together', async (around) => {
        const { tx } = around;
        const before = await changeable(around, { tenantId, userId, authTime });
        const email = await addressOf(tx, { tenantId, userId }, link);
        const held = { tenantId, holder: { user_id: userId }, digest: digestOf(link) };
        if (email === undefined || !(await emailLinks.take(tx, held))) throw notFound('The link');
        const standardClaims = { ...before.standardClaims, emailVerified: true };
        const after = { ...before, email, username: usernameAfter(before, email), standardClaims };
        if (await isTaken(tx, { tenantId, before, after })) throw notFound('The link');
        const plan = planRecord(around.tenant, 'user', before, after);
        const base = { actor: { type: 'user', id: userId }, requestId, ipAddress } as const;
        const isOther = normalizeIdentifier(before.email) !== normalizeIdentifier(email);
        await around.carryOut({
          plan,
          changes: changesOf(plan),
          events: eventsOf(plan, base),
          async tell() {
            if (isOther) await announce(tx, { tenantId, userId }, 'email-changed', { to: before.email });
          },
        });
        await putEmailProof(tx, { tenantId, userId }, email, mailedLink);
      });
      onChange();
    },
  };
}

/**
 * The address that a link of a person confirms; undefined for one that is unknown, used, expired or of somebody else.
 */
async function addressOf(database: Queryable, person: PersonId, link: string): Promise<string | undefined> {
  const found = await emailLinks.find(database, digestOf(link));
  const isTheirs = found?.tenantId === person.tenantId && found.holder.user_id === person.userId;
  return isTheirs ? found.kept.email : undefined;
}

/** People who registered have their address as user name: it must not stay taken when it is no longer theirs. */
function usernameAfter({ username, email: former }: UserRecord, email: string): string {
  const follows =
    normalizeIdentifier(username) === normalizeIdentifier(former) &&
    user.shape.username.safeParse(email).success;
  return follows ? email : username;
}

/** Whether somebody else signs in with the address, or programs know them by it. */
async function isTaken(
  tx: Queryable,
  change: { readonly tenantId: string; readonly before: UserRecord; readonly after: UserRecord },
): Promise<boolean> {
  const { tenantId, before, after } = change;
  const { userId, email } = after;
  const taken = await takenIdentifiers(tx, { tenantId, userId }, [normalizeIdentifier(email)]);
  return taken.length > 0 || (await namesSharedBy(tx, tenantId, after, before)).length > 0;
}
