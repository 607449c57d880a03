import { ApprovalsService } from '@tessera/proto-gen/admin-approvals';
import { AuditService } from '@tessera/proto-gen/admin-audit';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ConsentsService } from '@tessera/proto-gen/admin-consents';
import { GrantsService } from '@tessera/proto-gen/admin-grants';
import { KeysService } from '@tessera/proto-gen/admin-keys';
import { MailService } from '@tessera/proto-gen/admin-mail';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { PlanService } from '@tessera/proto-gen/plan';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import type { BuiltService, CallOptions, Client, DescService } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import { assignablesOf, type Assigned } from './access/assignable-records.ts';
import { attributesInClaims } from './access/attributes-in-claims.ts';
import { administratorAuthentication } from './access/bearer-administrators.ts';
import { recordServices } from './access/what-is-given.ts';
import { mergedAudit } from './audit/merge-audit.ts';
import { completingImpact } from './complete-impact.ts';
import type { AdminConfig } from './config.ts';
import { withdrawingAccess } from './consents/withdrawn-access.ts';
import { notedEnds } from './sessions/noted-ends.ts';
import { forwarding } from './forward.ts';
import { showingLock } from './shown-lock.ts';
import { tellingWhatEnded } from './telling-what-ended.ts';

/** Makes a client of what a service offers, which calls it as `admin`. */
type ClientOf = <S extends DescService>(service: S) => Client<S>;

/** The services that this one calls. */
export type AdminPeers = Readonly<Record<'keys' | 'directory' | 'authorize' | 'device' | 'token', ClientOf>>;

/** By the service that owns the records. */
const services = {
  directory: [
    // People are not read by it alone.
    ...recordServices.filter((service) => service !== UsersService),
    MailService,
    DeclaredStateService,
    DirectoryService,
  ],
  device: [ApprovalsService],
  token: [GrantsService],
  keys: [KeysService],
} satisfies Partial<Record<keyof AdminPeers, readonly DescService[]>>;

/** Builds the administration API. It keeps nothing, so it is ready at once. */
export function buildAdmin(
  config: AdminConfig,
  peers: AdminPeers,
  { log }: { readonly log: Logger },
): BuiltService {
  const token = peers.token(TokenService);
  const users = tellingWhatEnded(completingImpact(UsersService, peers.directory(UsersService), token));
  const bearer = administratorAuthentication({
    introspection: peers.token(IntrospectionService),
    directory: peers.directory(DirectoryService),
    config,
  });
  const applications = peers.directory(ApplicationsService);
  const records = { resources: peers.directory(ResourcesService), roles: peers.directory(RolesService) };
  const plans = peers.directory(PlanService);
  const access = {
    bearer,
    attributesInClaims: async (tenantId: string, call: CallOptions) =>
      attributesInClaims(applications, tenantId, call),
    assignablesOf: async (tenantId: string, given: ReadonlySet<Assigned>, call: CallOptions) =>
      assignablesOf(records, tenantId, given, call),
    issuerOf: async (tenantId: string, call: CallOptions) =>
      (await peers.directory(TenantsService).get({ tenantId }, call)).issuer,
    describePlan: (request: object, call: CallOptions) => plans.describePlan(request, call),
  };
  return {
    name: 'admin',
    routes: [
      ...Object.entries(services).flatMap(([owner, offered]) =>
        offered.map((service: DescService) => {
          const client = peers[owner as keyof AdminPeers](service);
          return forwarding(service, completingImpact(service, client, token), access);
        }),
      ),
      forwarding(UsersService, showingLock(users, peers.authorize(AuthorizeService)), {
        ...access,
        reader: users,
      }),
      forwarding(SessionsService, notedEnds(peers.authorize(SessionsService), token), access),
      forwarding(
        ConsentsService,
        withdrawingAccess(peers.authorize(ConsentsService), peers.token(GrantsService)),
        access,
      ),
      forwarding(
        AuditService,
        mergedAudit(
          Object.values(peers).map((clientOf) => clientOf(AuditService)),
          peers.directory(DirectoryService),
          log,
        ),
        access,
      ),
    ],
    ready: async () => {},
    close: async () => {},
  };
}
