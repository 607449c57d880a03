import { domainOfEmail } from '@tessera/kit';
import { invalidFields } from '@tessera/rpc';
import type { Database, Queryable } from '@tessera/stores';
import {
  newPasswordProblem,
  type Passwords,
  notFound,
  insertAuditRows,
  type AuditRuntime,
  signInSource,
  waysInOf,
} from '@tessera/directory/ground';
import {
  changesOf,
  eventsOf,
  apiOwner,
  planRecord,
  type ChangeRecord,
  type RecordTransaction,
  type TenantRecord,
  findTenant,
  desiredUser,
  areOfDeletedPerson,
  mailedLink,
  putEmailProof,
  user,
  normalizeIdentifier,
  findUserByIdentifier,
  namesSharedBy,
} from '@tessera/directory/records';
import { isServedAt } from '../change/served-at.ts';
import type { RegistrationLinks } from '../links/passkey-links.ts';
import { digestOf, registrationLinks } from '../one-time/one-time-values.postgres.ts';
import { insertFirstPasskey, type EnrolledPasskey } from '../passkey/passkeys.postgres.ts';
import type { PasswordLinks, OpenedLink } from '../links/password-links.ts';
import type { MailContent, MailKind, Outbox } from '../mail/outbox.ts';
import { takeMail, type ClaimedMail } from '../mail/outbox.postgres.ts';

export interface RegistrationDeps {
  readonly database: Database;
  readonly changeRecord: ChangeRecord;
  readonly passwords: Passwords;
  /** In characters. */
  readonly passwordMinLength: number;
  readonly outbox: Outbox;
  readonly links: Pick<PasswordLinks, 'add'>;
  readonly runtime: AuditRuntime;
  readonly newUserId: () => string;
  /** Before the first look at a request, in seconds. */
  readonly delaySeconds: number;
  /** Called after each commit. */
  readonly onChange: () => void;
}

/** Somebody who may make an account with an address that they have proven theirs. */
interface Registering {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly email: string;
}

interface RegistrationRequest {
  readonly tenantId: string;
  /** The tenant at whose own issuer it is asked for; empty at the shared issuer. */
  readonly issuerTenantId: string;
  readonly email: string;
  readonly language: string;
  readonly interactionId: string;
  readonly ipAddress: string;
  readonly requestId: string;
}

/**
 * Accounts that people make. The address comes first, the password once it is proven theirs: whoever registers the
 * address of somebody else chooses nothing of the account.
 */
export interface Registration extends RegistrationLinks {
  /**
   * Keeps a request, with the same work whether or not there is such an account. Throws NotFound for a tenant that is
   * not served there or lets nobody in, InvalidArgument for an address that it lets nobody in with.
   */
  keep(request: RegistrationRequest): Promise<void>;
  /** Makes a mail of a request, if it may; nobody waits for it. */
  answer(mail: ClaimedMail, said: MailContent): Promise<void>;
  /** Makes the account, once; as `redeem` of links that set a password. */
  redeem(
    request: OpenedLink & { readonly password: string; readonly ipAddress: string },
    call: { readonly requestId: string; readonly signal: AbortSignal },
  ): Promise<'set' | 'unknown' | { readonly problem: string }>;
}

const linkSeconds = 24 * 3600;
/** As an invitation of an administrator. */
const invitationSeconds = 7 * 24 * 3600;
const requestSeconds = 3600;

export function createRegistration(deps: RegistrationDeps): Registration {
  const { database, changeRecord, outbox, runtime } = deps;

  /** Uses up a link and makes its account, for one caller. */
  async function make(
    { tenantId, email, link }: Registering & { readonly link: string },
    { passwordHash, passkey }: { readonly passwordHash?: string; readonly passkey?: EnrolledPasskey },
    origin: { readonly ipAddress: string; readonly requestId: string },
  ): Promise<boolean> {
    return changeRecord(tenantId, 'together', async (around) => {
      const { tx, tenant } = around;
      if (tenant?.status !== 'active' || !admits(tenant, email)) return false;
      if ((await whoHas(tx, tenantId, email)) !== 'nobody') return false;
      const holder = { identifier: normalizeIdentifier(email) };
      if (!(await registrationLinks.take(tx, { tenantId, holder, digest: digestOf(link) }))) return false;
      const userId = deps.newUserId();
      const declared = user.parse({ username: email, email, emailVerified: true });
      const known = { owner: apiOwner, passwordHash, newUserId: () => userId };
      const plan = planRecord(tenant, 'user', undefined, desiredUser(declared, undefined, known));
      const base = { actor: { type: 'user', id: userId }, ...origin } as const;
      await around.carryOut({ plan, changes: changesOf(plan), events: eventsOf(plan, base) });
      await putEmailProof(tx, { tenantId, userId }, email, mailedLink);
      if (passkey !== undefined) {
        const added = await insertFirstPasskey(tx, { tenantId, userId }, { passkey, ...origin });
        await insertAuditRows(tx, [added], runtime);
      }
      return true;
    });
  }

  return {
    async keep({ tenantId, issuerTenantId, email: typed, language, interactionId, ipAddress, requestId }) {
      const email = typed.trim();
      await database.transaction(async (tx) => {
        const tenant = await findTenant(tx, tenantId);
        if (!isServedAt(tenant, issuerTenantId) || tenant.registration === 'closed')
          throw notFound('The tenant');
        const isAddress =
          user.shape.email.safeParse(email).success && user.shape.username.safeParse(email).success;
        if (!isAddress) throw invalidFields([{ field: 'email', description: 'must be an e-mail address' }]);
        if (tenant.registration === 'domain' && !isOfDomains(tenant, email))
          throw invalidFields([{ field: 'email', description: 'must be of a domain of the tenant' }]);
        const content = {
          identifier: email,
          language: language.slice(0, 35),
          interactionId: /^ti_[\w-]{43}$/.test(interactionId) ? interactionId : '',
          ipAddress,
          requestId,
        };
        const kept = { tenantId, userId: '', kind: 'registration-request', content } as const;
        await outbox.add(tx, { ...kept, lifetimeSeconds: requestSeconds, delaySeconds: deps.delaySeconds });
        const event = { event: 'user.registration.requested', outcome: 'success', tenantId } as const;
        await insertAuditRows(tx, [{ ...event, ipAddress, requestId }], runtime);
      });
    },

    async answer(mail, said) {
      const { identifier: email = '', ipAddress = '', requestId = '' } = said;
      await changeRecord(mail.tenantId, 'together', async (around) => {
        const { tx, tenantId } = around;
        if (!(await takeMail(tx, mail))) return;
        const refusal =
          mail.remainingSeconds <= 0 ? 'expired' : await answerRequest(deps, around, email, said);
        if (refusal === undefined) return;
        const event = { event: 'user.registration.refused', outcome: 'failure', reason: refusal } as const;
        await insertAuditRows(tx, [{ ...event, tenantId, ipAddress, requestId }], runtime);
      });
    },

    async find({ link, tenantId }) {
      const found = await findLink(database, { link, tenantId });
      return found && { tenantId: found.tenantId, tenantName: found.tenantName, username: found.email };
    },

    async redeem({ link, tenantId, password, ipAddress }, { requestId, signal }) {
      const found = await findLink(database, { link, tenantId });
      if (found === undefined) return 'unknown';
      const problem = newPasswordProblem(password, deps.passwordMinLength);
      if (problem !== undefined) return { problem };
      const source = signInSource(found.tenantId, found.email, ipAddress);
      const passwordHash = await deps.passwords.chosen(password, source, signal);
      const isMade = await make({ ...found, link }, { passwordHash }, { requestId, ipAddress });
      if (!isMade) return 'unknown';
      deps.onChange();
      return 'set';
    },

    async redeemWithPasskey({ link, tenantId }, passkey, origin) {
      const found = await findLink(database, { link, tenantId });
      return found !== undefined && make({ ...found, link }, { passkey }, origin);
    },
  };
}

/** Undefined for a link that is unknown, used, expired, or of a tenant that the issuer does not serve. */
async function findLink(
  database: Queryable,
  { link, tenantId: issuerTenantId }: OpenedLink,
): Promise<Registering | undefined> {
  const found = await registrationLinks.find(database, digestOf(link));
  const tenant = found && (await findTenant(database, found.tenantId));
  if (found === undefined || !isServedAt(tenant, issuerTenantId)) return undefined;
  return { tenantId: tenant.tenantId, tenantName: tenant.name, email: found.kept.email };
}

/** Makes a mail of a request; resolves with the reason if none is sent, which the person is not told. */
async function answerRequest(
  { outbox, links, runtime }: RegistrationDeps,
  { tx, tenant, tenantId }: RecordTransaction,
  email: string,
  { language = '', interactionId = '', ipAddress = '', requestId = '' }: MailContent,
): Promise<string | undefined> {
  if (tenant?.status !== 'active' || tenant.registration === 'closed') return 'closed';
  const holder = await whoHas(tx, tenantId, email);
  if (holder === 'deleted' || (typeof holder !== 'string' && holder.user.status !== 'active'))
    return 'inactive';
  if (holder === 'known') return 'taken';
  // It is the user name of somebody who has another address.
  if (typeof holder !== 'string' && normalizeIdentifier(holder.user.email) !== normalizeIdentifier(email))
    return 'taken';
  if (holder === 'nobody' && !admits(tenant, email)) return 'unknown';
  if (!(await outbox.count(tx, tenantId, email))) return 'limited';
  const mailId = outbox.newId();
  const origin = { actor: { type: 'system', id: 'directory' }, ipAddress, requestId } as const;
  const put = async (kind: MailKind, userId: string, more: MailContent, lifetimeSeconds: number) =>
    outbox.add(tx, { tenantId, userId, kind, content: { language, ...more }, lifetimeSeconds }, mailId);
  if (holder === 'nobody') {
    const link = outbox.linkOf(mailId);
    await registrationLinks.put(tx, {
      tenantId,
      holder: { identifier: normalizeIdentifier(email) },
      digest: digestOf(link),
      kept: { email },
      lifetimeSeconds: linkSeconds,
    });
    await put('registration', '', { to: email, interactionId }, linkSeconds);
    const event = { event: 'user.registration.linked', outcome: 'success', tenantId } as const;
    await insertAuditRows(tx, [{ ...origin, ...event }], runtime);
    return undefined;
  }
  const { userId } = holder.user;
  if ((await waysInOf(tx, { tenantId, userId })).length === 0) {
    const invited = { tenant, userId, purpose: 'invitation', mailedTo: holder.user.email } as const;
    await links.add(tx, { ...invited, link: outbox.linkOf(mailId) }, origin);
    await put('invitation', userId, { interactionId }, invitationSeconds);
  } else await put('account-exists', userId, {}, linkSeconds);
  return undefined;
}

/**
 * Who has an identifier. Somebody who was deleted does not come back by registering, and nobody gets the name by which
 * programs know somebody else.
 */
async function whoHas(tx: Queryable, tenantId: string, email: string) {
  const identifier = normalizeIdentifier(email);
  const found = await findUserByIdentifier(tx, tenantId, identifier);
  if (found !== undefined) return found;
  if (await areOfDeletedPerson(tx, tenantId, [identifier])) return 'deleted';
  const named = { userId: '', username: email, email: '', phoneNumber: '', standardClaims: {} };
  return (await namesSharedBy(tx, tenantId, named)).length > 0 ? 'known' : 'nobody';
}

/** Whether somebody whom the tenant does not know may make an account with an address. */
function admits(tenant: TenantRecord, email: string): boolean {
  return tenant.registration === 'open' || (tenant.registration === 'domain' && isOfDomains(tenant, email));
}

function isOfDomains({ registrationDomains }: TenantRecord, email: string): boolean {
  const domain = domainOfEmail(email);
  return domain !== undefined && registrationDomains.includes(domain);
}
