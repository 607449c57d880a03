import { desiredApplication } from '../applications/desired.ts';
import type { ClientSecrets } from '../secrets/client-secrets.ts';
import { staysLeftOut, type Part } from '../declared/part.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import { identityText, type DeclaredIdentity } from '../factors/declared-identity.ts';
import { desiredOf, type Fields, type RecordOf as FieldsOf } from '../fields/field.ts';
import {
  byList,
  recordKinds,
  recordName,
  type ByList,
  type ListedKind,
  type RecordOf,
} from '../record-kinds.ts';
import { desiredProvider } from '../providers/desired.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { z } from 'zod';
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

/** Of each kind whose records have more than the fields of their entries: the record that an entry asks for. */
type WithMore = {
  readonly [K in ListedKind as PlainRecord<K> extends RecordOf[K] ? never : K]: Desired<
    z.output<(typeof recordKinds)[K]['entry']>,
    RecordOf[K]
  >;
};
type PlainRecord<K extends ListedKind> = FieldsOf<(typeof recordKinds)[K]['fields']> & { owner: string };
type Desired<D, R> = (declared: D, present: R | undefined, owner: string) => R;

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
  const withMore: WithMore = {
    provider: (provider, present, owner) =>
      desiredProvider(provider, present, { owner, sealedSecret: clientSecrets.get(provider.name) }),
    user(user, present, owner) {
      const name = normalizeIdentifier(user.username);
      return desiredUser(user, present, {
        owner,
        passwordHash: passwordHashes.get(name),
        declaredTotp: declaredTotps?.get(name),
        declaredIdentities: identitiesAt(issuers, user.identities),
        newUserId: () => newUserId(name),
      });
    },
    application: (application, present, owner) =>
      desiredApplication(declared.id, application, present, { owner, secrets }),
  };
  const besides = (kind: ListedKind) => {
    const { list, fields } = recordKinds[kind];
    const plain = (entry: Entry, present: Owned | undefined, owner: string) => ({
      ...desiredOf<Fields>(fields, entryObject(kind, entry), present as never),
      owner,
    });
    const desired = (withMore as Partial<Record<ListedKind, unknown>>)[kind] ?? plain;
    const presentOf = kind === 'user' ? (entry: Entry) => matched.get(entry as DeclaredUser) : undefined;
    const records = { declared: declared[list], current: current?.[list], presentOf };
    return besidesOthers(kind, { ...records, desired: desired as Desired<Entry, Owned> }, by);
  };
  // Before people, who have something at them.
  const providers = besides('provider') as readonly Owned[] as readonly ProviderRecord[];
  const issuers = new Map(providers.map(({ name, issuer }) => [name, issuer]));
  return {
    tenant: desiredTenant(declared, current?.tenant, by),
    ...(byList((kind) => (kind === 'provider' ? providers : besides(kind))) as unknown as ByList<{
      readonly [K in ListedKind]: readonly RecordOf[K][];
    }>),
    ...(current?.identities && { identities: current.identities }),
  };
}

/** An entry of the declared state; a text is the name of the record. */
type Entry = object | string;

interface Owned {
  readonly owner: string;
}

function entryObject(kind: ListedKind, entry: Entry): object {
  return typeof entry === 'string' ? { [recordKinds[kind].name]: entry } : entry;
}

/** What the declared state knows a record or an entry by, in the form in which names are compared. */
function nameOf(kind: ListedKind, of: Entry): string {
  const name = recordName(kind, of);
  return kind === 'user' ? normalizeIdentifier(name) : name;
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
function besidesOthers(
  kind: ListedKind,
  {
    declared,
    current = [],
    desired,
    presentOf = byName(kind, current),
  }: {
    readonly declared: readonly Entry[];
    readonly current: readonly Owned[] | undefined;
    readonly desired: Desired<Entry, Owned>;
    readonly presentOf: ((entry: Entry) => Owned | undefined) | undefined;
  },
  by: By,
): Owned[] {
  const left = new Set(current);
  const records = declared.map((entry) => {
    const found = presentOf(entry);
    // What is declared twice is refused.
    const record = found !== undefined && left.delete(found) ? found : undefined;
    return desired(entry, record, ownerOf(record, by));
  });
  const isLeft = (record: Owned) =>
    record.owner !== by.owner || staysLeftOut(by.part, kind, nameOf(kind, record));
  return [...records, ...[...left].filter(isLeft)];
}

function byName(kind: ListedKind, current: readonly Owned[]) {
  const present = new Map(current.map((record) => [nameOf(kind, record), record]));
  return (entry: Entry) => present.get(nameOf(kind, entry));
}
