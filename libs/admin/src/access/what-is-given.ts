import { adminRoles, adminScopes, defaultSigningAlgorithm, isGivenUserId } from '@tessera/oauth';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { AuditService } from '@tessera/proto-gen/admin-audit';
import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { KeysService } from '@tessera/proto-gen/admin-keys';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { ResourcesService, type Resource } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { TenantsService, type Tenant } from '@tessera/proto-gen/admin-tenants';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { DirectoryService } from '@tessera/proto-gen/directory';
import type { DescService } from '@tessera/rpc';
import type { Gift } from './gift.ts';
import { giftsOfApplication } from './gifts-of-application.ts';

/**
 * What a method does. `gives`: it makes a record. `changes`: it changes or deletes one, or what belongs to it, so
 * whoever may call it controls the record from then on. `restores`: it makes a deleted record as it was. `acts`: it
 * changes something else, and nobody controls anything by it. `declares` and `reads kinds`: it is about records of the
 * kinds that it names, for those who hold the scopes of these. `reads` is also what every other method without side
 * effects does, unless its service is about records of every kind.
 */
export type Effect = 'reads' | 'acts' | 'gives' | 'changes' | 'restores' | 'declares' | 'reads kinds';

/** What is known of a service for the rule that nobody gives what they do not hold. */
export interface ServiceRule {
  /** The fields of requests that have a record, and that identify one. */
  readonly record: string;
  readonly key: string;
  readonly effects: Readonly<Record<string, Effect>>;
  /** Whether its methods are about records of every kind: each has its entry. */
  readonly everyKind?: true;
  /** Methods that help the person of a record and change nothing that its owner says. */
  readonly forEveryOwner?: readonly string[];
  /**
   * What a request does to a record, if it would end the administration of every tenant when that is the operator
   * tenant.
   */
  readonly endsAdministration?: (method: string, record: never) => string | undefined;
  /** Whether a request changes records of every kind, and so is for those who hold every scope. */
  readonly changesAll?: (request: Readonly<Record<string, unknown>>) => boolean;
  /** What a request needs besides the scope of its method, as it is about more than one record. */
  readonly alsoNeeds?: (request: Readonly<Record<string, unknown>>) => readonly string[];
  /** @param empties whether an empty field says that there is none; otherwise it says nothing */
  gifts(record: never, empties: (field: string) => boolean): readonly Gift[];
}

/** The effects of methods of a service. One that has side effects and no entry lets no process start that serves it. */
type EffectsOf<S extends DescService> = { readonly [M in keyof S['method']]?: Effect };

const standard = {
  create: 'gives',
  update: 'changes',
  delete: 'changes',
} as const;
const { update: _, ...withoutUpdate } = standard;
const restorable = { ...standard, undelete: 'restores' } as const;
/** For a service without records. */
const withoutGifts = { record: '', key: '', gifts: (): readonly Gift[] => [] };

/** What the methods of each service do, and the condition of each value that gives something. */
const rules: readonly (readonly [DescService, ServiceRule])[] = [
  [
    TenantsService,
    {
      record: 'tenant',
      key: 'tenantId',
      effects: standard satisfies EffectsOf<typeof TenantsService>,
      endsAdministration(method, { status = '' }: Partial<Tenant>) {
        if (method === 'delete') return 'Deleting';
        return ['', 'active'].includes(status) ? undefined : 'Disabling';
      },
      changesAll: ({ force }) => force === true,
      // Tokens of the tenant then reach what trusts that issuer.
      gifts: ({ issuer, passkeyDomain, status }: Tenant, empties) => [
        ...(issuer === '' && !empties('issuer')
          ? []
          : [{ field: 'issuer', what: issuer || 'the shared one', scopes: [], everyTenant: true }]),
        // Its host may then ask for passkeys of the shared host, which are those of other tenants too.
        ...(passkeyDomain === 'shared'
          ? [{ field: 'passkeyDomain', what: 'shared', scopes: [], everyTenant: true }]
          : []),
        // Everybody who administers it does so there, or again.
        ...(issuer === ''
          ? []
          : [{ field: 'issuer', what: issuer, scopes: [...adminScopes.keys()], again: true }]),
        ...(status === 'active'
          ? [{ field: 'status', what: status, scopes: [...adminScopes.keys()], again: true }]
          : []),
      ],
    },
  ],
  [
    ResourcesService,
    {
      record: 'resource',
      key: 'audience',
      effects: standard satisfies EffectsOf<typeof ResourcesService>,
      gifts: ({ shared, scopes, signingAlgorithm }: Resource) => [
        // Tokens of other tenants then have this audience too, and what its scopes say there.
        ...(shared
          ? [
              { field: 'shared', what: 'true', scopes: [], everyTenant: true },
              ...scopes.map(({ name: what }) => ({ field: 'scopes', what, scopes: [], everyTenant: true })),
            ]
          : []),
        // The keys of the shared issuer are those of all tenants there, and one of another algorithm stays among them.
        ...(['', defaultSigningAlgorithm].includes(signingAlgorithm)
          ? []
          : [
              {
                field: 'signingAlgorithm',
                what: signingAlgorithm,
                scopes: [],
                everyTenant: true,
                atSharedIssuer: true,
              },
            ]),
        // To the applications of the tenant it then is this one, and no longer the one of the administration.
        ...scopes
          .filter(({ name }) => adminScopes.has(name))
          .map(({ name: what }) => ({ field: 'scopes', what, scopes: [what], owner: '*' })),
      ],
    },
  ],
  [
    RolesService,
    {
      record: 'role',
      key: 'name',
      effects: withoutUpdate satisfies EffectsOf<typeof RolesService>,
      gifts: () => [],
    },
  ],
  [
    UsersService,
    {
      record: 'user',
      key: 'userId',
      forEveryOwner: ['unlock'],
      effects: {
        ...restorable,
        // Whoever has the link becomes the person.
        createPasswordLink: 'changes',
        resetSecondFactors: 'changes',
        deleteCredential: 'changes',
        // They need a new way in, which whoever may call this can give.
        lockDown: 'changes',
        // Guesses of codes may go on.
        unlock: 'changes',
      } satisfies EffectsOf<typeof UsersService>,
      gifts: ({ userId, roles, attributes = {} }: User) => [
        // As an attribute: applications keep what they let somebody do by the subject of tokens.
        ...(userId === '' || !isGivenUserId(userId)
          ? []
          : [{ field: 'userId', what: userId, scopes: ['admin.applications.write'] }]),
        ...roles.map((what) => {
          const scopes = adminRoles.get(what);
          if (scopes === undefined)
            return { field: 'roles', what, scopes: ['admin.roles.write'], assigns: 'role' as const };
          // People are bound to nobody.
          const writes = [...scopes].some((scope) => scope.endsWith('.write'));
          return {
            field: 'roles',
            what,
            scopes: [...scopes],
            administers: true,
            ...(writes && { owner: '*' }),
          };
        }),
        // As a role: what an application makes of it may be a right there.
        ...Object.entries(attributes).map(([what, attribute]) => ({
          field: 'attributes',
          what,
          attribute,
          scopes: ['admin.applications.write'],
        })),
      ],
    },
  ],
  [
    ApplicationsService,
    {
      record: 'application',
      key: 'clientId',
      effects: {
        ...restorable,
        createSecret: 'changes',
        deleteSecret: 'changes',
      } satisfies EffectsOf<typeof ApplicationsService>,
      gifts: giftsOfApplication,
    },
  ],
  [
    SessionsService,
    {
      ...withoutGifts,
      effects: { endSessions: 'acts' } satisfies EffectsOf<typeof SessionsService>,
    },
  ],
  [
    GrantsService,
    {
      ...withoutGifts,
      effects: { revokeGrants: 'acts' } satisfies EffectsOf<typeof GrantsService>,
      // Of everybody at the application.
      alsoNeeds: ({ grantId, userId }) =>
        [grantId, userId].every((one) => (one ?? '') === '') ? ['admin.applications.write'] : [],
    },
  ],
  [
    ConsentsService,
    {
      ...withoutGifts,
      effects: { delete: 'acts' } satisfies EffectsOf<typeof ConsentsService>,
    },
  ],
  [
    ApprovalsService,
    {
      ...withoutGifts,
      effects: { cancel: 'acts' } satisfies EffectsOf<typeof ApprovalsService>,
    },
  ],
  [
    MailService,
    {
      ...withoutGifts,
      effects: { delete: 'acts' } satisfies EffectsOf<typeof MailService>,
    },
  ],
  [
    DeclaredStateService,
    {
      ...withoutGifts,
      everyKind: true,
      effects: {
        apply: 'declares',
        // It tells whether a password is the present one of somebody.
        diff: 'declares',
        get: 'reads kinds',
      } satisfies EffectsOf<typeof DeclaredStateService>,
    },
  ],
  [AuditService, { ...withoutGifts, effects: {} }],
  [DirectoryService, { ...withoutGifts, effects: {} }],
  [
    KeysService,
    {
      ...withoutGifts,
      effects: { rotate: 'acts', withdraw: 'acts' } satisfies EffectsOf<typeof KeysService>,
    },
  ],
];

/** By the full name of the service. */
export const serviceRules: ReadonlyMap<string, ServiceRule> = new Map(
  rules.map(([{ typeName }, rule]) => [typeName, rule]),
);

/** The services that change records one by one, each those of a kind. */
export const recordServices: readonly DescService[] = rules
  .filter(([, { record }]) => record !== '')
  .map(([service]) => service);
