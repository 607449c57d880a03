import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { EventBase } from '@tessera/audit';
import { domainOfEmail, withAsciiDomain } from '@tessera/kit';
import { adminRoles } from '@tessera/oauth';
import type { Database } from '@tessera/stores';
import { insertAuditRows, type AuditRuntime } from '@tessera/directory/ground';
import {
  changesOf,
  eventsOf,
  apiOwner,
  areOfDeletedPerson,
  planRecord,
  type ChangeRecord,
  type DirectoryStore,
  type FoundUser,
  type RecordTransaction,
  desiredUser,
  findEmailProver,
  mailedLink,
  putEmailProof,
  user,
  type UserRecord,
  identifiersOf,
  normalizeIdentifier,
  findUserByIdentifier,
  type ProviderRecord,
  lockProvider,
  readProviders,
  namesSharedBy,
  vouchesFor,
} from '@tessera/directory/records';
import {
  confirmIdentity,
  findHolder,
  hasIdentity,
  isSubject,
  providersOf,
  putIdentity,
  type Identity,
} from './identities.postgres.ts';
import { applyClaims } from './apply-claims.ts';
import type { MappedClaims } from './mapped-person.ts';

/** What a provider said of a person, verified by the caller (OIDC Core §3.1.3.7). */
export interface ProviderProof extends Identity {
  /** Empty if it said none. */
  readonly email: string;
  readonly emailVerified: boolean;
  readonly name: string;
  readonly givenName: string;
  readonly familyName: string;
  /** Undefined if none are mapped. */
  readonly mapped?: MappedClaims | undefined;
  /** Of the person. */
  readonly ipAddress: string;
  readonly requestId: string;
}

/**
 * Why somebody does not get in, for the audit trail; people are told the same for each. `unknown`: nobody is bound to
 * the identity, and none is made. `taken`: somebody has the address and is not linked; `unproven`: only because neither
 * a link that was mailed there nor this provider has proved that it is theirs. `inactive`: the person or the tenant is
 * disabled, locked or gone. `provider`: the tenant has no such provider with that issuer.
 */
export type Refusal = 'unknown' | 'taken' | 'unproven' | 'inactive' | 'provider';

export type ProviderSignedIn =
  | {
      readonly found: FoundUser;
      /** Milliseconds since the Unix epoch, by the clock of the records. */
      readonly signedInAt: number;
    }
  | { readonly refusal: Refusal };

/**
 * Signs in the person bound to an identity that a provider proved; the first time, the person whom the rules of the
 * provider allow.
 */
export type ProviderSignIn = (proof: ProviderProof) => Promise<ProviderSignedIn>;

export interface ProviderSignInDeps {
  readonly database: Database;
  readonly store: Pick<DirectoryStore, 'findUser'>;
  readonly changeRecord: ChangeRecord;
  readonly runtime: AuditRuntime;
  readonly newUserId: () => string;
  /** Called after each commit. */
  readonly onChange: () => void;
}

export function createProviderSignIn(deps: ProviderSignInDeps): ProviderSignIn {
  const { database, store, changeRecord, runtime, newUserId, onChange } = deps;

  async function signIn(identity: ProviderProof, userId: string): Promise<ProviderSignedIn> {
    const { mapped, tenantId } = identity;
    if (mapped !== undefined) {
      const said = { userId, mapped, by: baseOf(identity, userId), runtime };
      await changeRecord(tenantId, 'together', async (around) => applyClaims(identity, around, said));
      onChange();
    }
    const signedInAt = await confirmIdentity(database, identity, userId);
    const found = signedInAt === undefined ? undefined : await store.findUser(tenantId, userId);
    return found === undefined || signedInAt === undefined ? { refusal: 'inactive' } : { found, signedInAt };
  }

  /** Binds an identity at its first sign-in; resolves with its person. */
  async function bind(
    proof: ProviderProof,
    around: RecordTransaction,
  ): Promise<string | { readonly refusal: Refusal }> {
    const known = await findHolder(around.tx, proof);
    if (known !== undefined) return known;
    if (around.tenant?.status !== 'active') return { refusal: 'inactive' };
    const provider = await lockProvider(around.tx, proof.tenantId, proof.provider);
    if (provider?.issuer !== proof.issuer) return { refusal: 'provider' };
    const all = await readProviders(around.tx, proof.tenantId);
    const isOwn = proof.emailVerified && vouchesFor(provider, domainOfEmail(proof.email), all);
    const email = isOwn ? validEmail(withAsciiDomain(proof.email)) : '';
    const holder = email === '' ? undefined : await holderOf(email, around);
    const bound =
      holder === undefined
        ? await create(proof, provider, email, around)
        : await link(proof, provider, holder, { ...around, all });
    if (typeof bound !== 'string') return bound;
    await putIdentity(around.tx, proof, bound);
    const details = { provider: provider.name, account: holder === undefined ? 'new' : 'linked' };
    const event = { event: 'auth.provider.linked', outcome: 'success', details } as const;
    const subject = { tenantId: proof.tenantId, subject: bound };
    await insertAuditRows(around.tx, [{ ...baseOf(proof, bound), ...event, ...subject }], runtime);
    return bound;
  }

  async function create(
    proof: ProviderProof,
    provider: ProviderRecord,
    email: string,
    around: RecordTransaction,
  ): Promise<string | { readonly refusal: Refusal }> {
    if (!provider.createsAccounts) return { refusal: 'unknown' };
    const declared = accountOf(proof, email);
    // Somebody who was deleted does not come back by signing in.
    if (await areOfDeletedPerson(around.tx, proof.tenantId, identifiersOf(declared)))
      return { refusal: 'inactive' };
    if ((await holderOf(declared.username, around)) !== undefined) return { refusal: 'taken' };
    const userId = newUserId();
    const record = desiredUser(declared, undefined, {
      owner: apiOwner,
      passwordHash: undefined,
      newUserId: () => userId,
    });
    if ((await namesSharedBy(around.tx, proof.tenantId, record)).length > 0) return { refusal: 'taken' };
    const plan = planRecord(around.tenant, 'user', undefined, record);
    const events = eventsOf(plan, baseOf(proof, userId));
    await around.carryOut({ plan, changes: changesOf(plan), events });
    if (email !== '') await putEmailProof(around.tx, { tenantId: proof.tenantId, userId }, email, proof);
    return userId;
  }

  return async (proof) => {
    const { tenantId, subject } = proof;
    if (!isSubject(subject)) return { refusal: 'unknown' };
    const known = await findHolder(database, proof);
    if (known !== undefined) return signIn(proof, known);
    const bound = await changeRecord(tenantId, 'together', async (around) => bind(proof, around));
    if (typeof bound === 'string') {
      onChange();
      return signIn(proof, bound);
    }
    // What refused it may be the account that another first sign-in with this identity has just made.
    const meanwhile = await findHolder(database, proof);
    return meanwhile === undefined ? bound : signIn(proof, meanwhile);
  };
}

/**
 * The person with this address, if they may be linked: the tenant must say that a verified address is enough, and a
 * link that was mailed there, or this provider, must have proved that it is theirs. What an administrator or another
 * provider says leads nobody to an account.
 */
async function link(
  proof: ProviderProof,
  provider: ProviderRecord,
  holder: UserRecord,
  { tx, all }: Pick<RecordTransaction, 'tx'> & { readonly all: readonly ProviderRecord[] },
): Promise<string | { readonly refusal: Refusal }> {
  if (holder.status !== 'active') return { refusal: 'inactive' };
  const mayLink =
    provider.linking === 'verified-email' &&
    holder.standardClaims.emailVerified === true &&
    normalizeIdentifier(holder.email) === normalizeIdentifier(proof.email) &&
    // Who runs the provider would get a power over the tenant that nobody gave them.
    !holder.roles.some((role) => adminRoles.has(role)) &&
    // The address may have been somebody else's before.
    !(await hasIdentity(tx, proof, holder.userId)) &&
    (await providersOf(tx, proof.tenantId, holder.userId)).every((at) =>
      all.some(
        (other) =>
          other.name === at.provider &&
          other.issuer === at.issuer &&
          vouchesFor(other, domainOfEmail(holder.email), all),
      ),
    );
  if (!mayLink) return { refusal: 'taken' };
  const prover = await findEmailProver(tx, { tenantId: proof.tenantId, userId: holder.userId }, holder.email);
  const isProven = [mailedLink, { provider: provider.name, issuer: provider.issuer }].some((trusted) =>
    isDeepStrictEqual(trusted, prover),
  );
  return isProven ? holder.userId : { refusal: 'unproven' };
}

/** The person with an identifier, who stays as they are until the commit. */
async function holderOf(
  identifier: string,
  { tx, tenantId, find }: RecordTransaction,
): Promise<UserRecord | undefined> {
  const found = await findUserByIdentifier(tx, tenantId, normalizeIdentifier(identifier));
  return found && (await find('user', found.user.userId))?.record;
}

/**
 * What the tenant gets to know of a new person. An address that its provider does not vouch for is not kept, as it may
 * be anybody's.
 */
function accountOf(
  { provider, issuer, subject, ...proof }: ProviderProof,
  email: string,
): ReturnType<typeof user.parse> {
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');
  const isName = user.shape.username.safeParse(email).success;
  return user.parse({
    username: isName ? email : `${provider}:${digest.slice(0, 22)}`,
    ...(email !== '' && { email, emailVerified: true }),
    ...(user.shape.name.safeParse(proof.name).success && { name: proof.name }),
    ...(user.shape.givenName.safeParse(proof.givenName).success && { givenName: proof.givenName }),
    ...(user.shape.familyName.safeParse(proof.familyName).success && { familyName: proof.familyName }),
  });
}

function validEmail(email: string): string {
  return user.shape.email.safeParse(email).success ? email : '';
}

function baseOf({ ipAddress, requestId }: ProviderProof, userId: string): EventBase & { ipAddress: string } {
  return { actor: { type: 'user', id: userId }, requestId, ipAddress };
}
