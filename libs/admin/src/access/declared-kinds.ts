import type { PlannedProvider } from '@tessera/proto-gen/plan';
import {
  Code,
  ConnectError,
  declaredAccess,
  invalidFields,
  notUnderstood,
  type DescMethod,
  type DescService,
  type Principal,
} from '@tessera/rpc';
import { recordServices, serviceRules, type ServiceRule } from './what-is-given.ts';

/**
 * A kind of record in a declared state: what one gives, and the scopes of an access token that reads or writes them.
 */
interface DeclaredKind {
  readonly rule: Pick<ServiceRule, 'gifts' | 'endsAdministration'>;
  readonly read: readonly string[];
  readonly write: readonly string[];
}

/**
 * By their names in a declared state. Whose records a service changes one by one need the same scopes in a document.
 */
export const declaredKinds: ReadonlyMap<string, DeclaredKind> = new Map([
  ...recordServices.map(kindOf),
  [
    'provider',
    {
      rule: {
        gifts: ({ roles, roleSources, attributes }: PlannedProvider) => [
          ...roles.map((what, at) => ({
            field: 'roleMappings',
            what,
            from: roleSources[at] ?? '',
            scopes: ['admin.roles.write'],
            assigns: 'role' as const,
          })),
          ...Object.entries(attributes).map(([what, attribute]) => ({
            field: 'attributeMappings',
            what,
            attribute,
            scopes: ['admin.applications.write'],
          })),
        ],
      },
      read: ['admin.tenants.read'],
      // Who controls a provider signs in as people of the tenant.
      write: ['admin.tenants.write', 'admin.users.write'],
    },
  ],
]);

function kindOf(service: DescService): [string, DeclaredKind] {
  const rule = serviceRules.get(service.typeName);
  const { list, create } = service.method as Readonly<Record<string, DescMethod>>;
  if (rule === undefined || list === undefined || create === undefined)
    throw new Error(`${service.typeName} does not list and create records of a kind`);
  return [rule.record, { rule, read: declaredAccess(list).scopes, write: declaredAccess(create).scopes }];
}

/** The kinds that a request names, or all if it names none. Throws InvalidArgument for one that is not known here. */
export function askedKinds(kinds: readonly string[]): Iterable<string> {
  if (kinds.some((kind) => !declaredKinds.has(kind)))
    throw invalidFields([
      { field: 'kinds', description: `must be of ${[...declaredKinds.keys()].join(', ')}` },
    ]);
  return kinds.length === 0 ? declaredKinds.keys() : kinds;
}

/** The kinds that an access token may write all of. */
export function writableKinds({ scopes = [] }: Principal): string[] {
  return [...declaredKinds]
    .filter(([, { write }]) => write.every((scope) => scopes.includes(scope)))
    .map(([kind]) => kind);
}

/**
 * Throws PermissionDenied, by name of kind and scope, for kinds that an access token does not reach, and
 * `temporarily_unavailable` for unknown ones.
 */
export function refuseKinds(
  kinds: Iterable<string>,
  way: 'read' | 'write',
  { scopes = [] }: Principal,
): void {
  const lacking = [...new Set(kinds)].flatMap((kind) => {
    const needed = declaredKinds.get(kind)?.[way];
    if (needed === undefined) throw notUnderstood(`the kind of record ${kind}`);
    const missing = needed.filter((scope) => !scopes.includes(scope));
    return missing.length === 0 ? [] : [`${kind} needs ${missing.join(' and ')}`];
  });
  if (lacking.length === 0) return;
  throw new ConnectError(
    `The access token has no scope for kinds of records of this declared state: ${lacking.join(', ')}.`,
    Code.PermissionDenied,
  );
}
