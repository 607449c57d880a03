import { desiredApplication } from '../applications/desired.ts';
import type { ClientSecrets } from '../secrets/client-secrets.ts';
import { staysLeftOut, type Part } from '../declared/part.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import { identityText, type DeclaredIdentity } from '../factors/declared-identity.ts';
import { desiredOf } from '../fields/field.ts';
import type { ListedKind } from '../fields/record-kinds.ts';
import { desiredProvider } from '../providers/desired.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { tenantFields, type TenantRecord } from '../tenants/fields.ts';
import { desiredUser } from '../users/desired.ts';
import type { DeclaredUser } from '../users/fields.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { matchedPeople } from '../users/matched-people.ts';

export interface DesiredOptions {
  readonly secrets: ClientSecrets;
  /** By normalized user name, for users with a declared password or hash. */
  readonly passwordHashes: ReadonlyMap<string, string>;
  /** Sealed, by the names of providers with a declared secret. */
  readonly clientSecrets: ReadonlyMap<string, string>;
  /** By normalized user name, by which declared authenticator apps are known. */
  readonly declaredTotps?: ReadonlyMap<string, string>;
  /** @param name normalized user name of the new person */
  readonly newUserId: (name: string) => string;
  /** Who declares it. */
  readonly owner: string;
  /** Whether it takes over what others own. */
  readonly takeOver: boolean;
  /** What it leaves out and stays. */
  readonly part: Part;
}

/**
 * The desired state of a tenant: the declared records, and those that others own or that stay. An undeclared status or
 * password stays as it is, so that applying a file again never enables what was disabled.
 */
export function desiredState(
  declared: DeclaredTenant,
  current: TenantState | undefined,
  { secrets, passwordHashes, declaredTotps, clientSecrets, newUserId, ...by }: DesiredOptions,
): TenantState {
  const matched = matchedPeople(declared.users, current?.users);
  const providers = besidesOthers(
    'provider',
    declared.providers,
    current?.providers,
    ({ name }: { readonly name: string }) => name,
    (provider, present, owner) => {
      const sealedSecret = clientSecrets.get(provider.name);
      return desiredProvider(provider, present, { owner, sealedSecret });
    },
    by,
  );
  const issuers = new Map(providers.map(({ name, issuer }) => [name, issuer]));
  return {
    tenant: desiredTenant(declared, current?.tenant, by),
    resources: besidesOthers(
      'resource',
      declared.resources,
      current?.resources,
      ({ audience }: { readonly audience: string }) => audience,
      (resource, _, owner) => ({ ...resource, owner }),
      by,
    ),
    roles: besidesOthers(
      'role',
      declared.roles.map((name) => ({ name })),
      current?.roles,
      ({ name }: { readonly name: string }) => name,
      ({ name }, _, owner) => ({ name, owner }),
      by,
    ),
    providers,
    users: besidesOthers(
      'user',
      declared.users,
      current?.users,
      ({ username }: { readonly username: string }) => normalizeIdentifier(username),
      (user, present, owner) => {
        const name = normalizeIdentifier(user.username);
        return desiredUser(user, present, {
          owner,
          passwordHash: passwordHashes.get(name),
          declaredTotp: declaredTotps?.get(name),
          declaredIdentities: identitiesAt(issuers, user.identities),
          newUserId: () => newUserId(name),
        });
      },
      by,
      (user: DeclaredUser) => matched.get(user),
    ),
    applications: besidesOthers(
      'application',
      declared.applications,
      current?.applications,
      ({ clientId }: { readonly clientId: string }) => clientId,
      (application, present, owner) =>
        desiredApplication(declared.id, application, present, { owner, secrets }),
      by,
    ),
    ...(current?.identities && { identities: current.identities }),
  };
}

/** As they are remembered, at the providers that the tenant has; undefined if none of them is there. */
function identitiesAt(
  issuers: ReadonlyMap<string, string>,
  identities: readonly DeclaredIdentity[] | undefined,
): string[] | undefined {
  const found = identities?.flatMap((identity) => {
    const issuer = issuers.get(identity.provider);
    return issuer === undefined ? [] : [identityText(identity, issuer)];
  });
  return found?.length === 0 && identities?.length !== 0 ? undefined : found;
}

type By = Pick<DesiredOptions, 'owner' | 'takeOver' | 'part'>;

/** An entry without a name refers to the tenant as it is. */
function desiredTenant(declared: DeclaredTenant, current: TenantRecord | undefined, by: By): TenantRecord {
  const { id: tenantId, name = '', ...fields } = declared;
  if (declared.name === undefined && current !== undefined) return current;
  const owner = ownerOf(current, by);
  return { tenantId, owner, ...desiredOf(tenantFields, { ...fields, name }, current) };
}

function ownerOf(current: { readonly owner: string } | undefined, { owner, takeOver }: By): string {
  return takeOver ? owner : (current?.owner ?? owner);
}

/**
 * The declared records in the order of the file, and behind them those that it does not declare, and that others own or
 * that stay.
 */
function besidesOthers<K, D extends K, R extends K & { readonly owner: string }>(
  kind: ListedKind,
  declared: readonly D[],
  current: readonly R[] = [],
  keyOf: (record: K) => string,
  desired: (declared: D, present: R | undefined, owner: string) => R,
  by: By,
  presentOf = byKey(current, keyOf),
): R[] {
  const left = new Set(current);
  const records = declared.map((entry) => {
    const found = presentOf(entry);
    // What is declared twice is refused.
    const record = found !== undefined && left.delete(found) ? found : undefined;
    return desired(entry, record, ownerOf(record, by));
  });
  const isLeft = (record: R) => record.owner !== by.owner || staysLeftOut(by.part, kind, keyOf(record));
  return [...records, ...[...left].filter(isLeft)];
}

function byKey<K, R extends K>(current: readonly R[], keyOf: (record: K) => string) {
  const present = new Map(current.map((record) => [keyOf(record), record]));
  return (entry: K): R | undefined => present.get(keyOf(entry));
}
