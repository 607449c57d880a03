import type { Problem } from '../../declared/declared-state-error.ts';
import type { ReadState } from '../../declared/read.ts';
import type { DeclaredTenant } from '../../declared/schema.ts';
import type { TenantPlan } from '../../plans/plan.ts';
import {
  isClientId,
  isUserId,
  keepsOwnIssuer,
  needsOwnIssuer,
  neverChanges,
  wasGiven,
} from '../../users/claims/given-user-id.ts';
import { normalizeIdentifier } from '../../users/identifiers.ts';

/** Identifiers that a plan gives to people or applications, and others have or had, or that are theirs for good. */
export function problemsOfSubjects(
  read: ReadState,
  tenant: DeclaredTenant,
  { current, desired, users, applications }: TenantPlan,
): Problem[] {
  const path = ['tenants', read.state.tenants.indexOf(tenant)];
  const { subjects } = current ?? {};
  const isShared = desired.tenant.issuer === '';
  const isGivenUp = isShared && current !== undefined && current.tenant.issuer !== '';
  const created = new Set(users.created);
  const records = new Map(desired.users.map((user) => [normalizeIdentifier(user.username), user]));
  const clientIds = new Set(desired.applications.map(({ clientId }) => clientId));
  const ofPerson = ({ username, userId = '' }: DeclaredTenant['users'][number]): string | undefined => {
    if (userId === '') return undefined;
    if (isShared) return needsOwnIssuer;
    const record = records.get(normalizeIdentifier(username));
    if (record === undefined) return undefined;
    if (record.userId !== userId) return subjects && neverChanges;
    if (!created.has(record)) return undefined;
    if (clientIds.has(userId) || subjects?.ofApplications.has(userId) === true) return isClientId;
    return subjects?.ofPeople.has(userId) === true ? wasGiven : undefined;
  };
  const issuers = new Map(desired.providers.map(({ name, issuer }) => [name, issuer]));
  const host = hostOf(desired.tenant);
  const isTaken = (clientId: string) => subjects?.ofPeople.has(clientId) === true;
  return [
    ...(isGivenUp && subjects?.areGiven === true ? [read.problem([...path, 'issuer'], keepsOwnIssuer)] : []),
    ...tenant.users.flatMap((user, index) => {
      const message = ofPerson(user);
      return message === undefined ? [] : [read.problem([...path, 'users', index, 'userId'], message)];
    }),
    ...tenant.users.flatMap(({ passkeys = [] }, index) =>
      passkeys.flatMap(({ rpId }, place) =>
        host === undefined || rpId === host
          ? []
          : [read.problem([...path, 'users', index, 'passkeys', place, 'rpId'], otherHost)],
      ),
    ),
    ...tenant.users.flatMap(({ identities = [] }, index) =>
      identities.flatMap(({ provider, issuer }, place) => {
        const at = [...path, 'users', index, 'identities', place];
        const known = issuers.get(provider);
        if (known === undefined)
          return subjects === undefined ? [] : [read.problem([...at, 'provider'], noProvider)];
        return issuer === undefined || issuer === known ? [] : [read.problem([...at, 'issuer'], otherIssuer)];
      }),
    ),
    ...applications.created
      .filter(({ clientId }) => isTaken(clientId))
      .map(({ clientId }) => {
        const index = tenant.applications.findIndex((declared) => declared.clientId === clientId);
        return read.problem([...path, 'applications', index, 'clientId'], isUserId);
      }),
  ];
}

/** The message for an identity at a provider that nobody has declared. */
const noProvider = 'is not a provider of the tenant';

/** The message for an identity whose `sub` is perhaps somebody else's there. */
const otherIssuer = 'is not the issuer of the provider that the tenant has by this name';

/** The message for a passkey that no page here could use. */
const otherHost = 'must be the host of the issuer of the tenant';

/** Undefined where passkeys are of the host of the shared issuer, which is not known here. */
function hostOf({ issuer, passkeyDomain }: TenantPlan['desired']['tenant']): string | undefined {
  return passkeyDomain === 'own' && URL.canParse(issuer) ? new URL(issuer).hostname : undefined;
}
