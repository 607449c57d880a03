import {
  applicationById,
  EndedCount,
  mostAtOnce,
  partsOf,
  usersById,
  type ApplicationRecord,
} from '@tessera/directory-client';
import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { ApplicationAfter, Ends } from '@tessera/proto-gen/impact';
import type { CallOptions, Client } from '@tessera/rpc';
import { isOfIssuer, isUsable } from '../usable.ts';
import { firstFamily, type FoundFamily, type LiveScope, type RefreshStore } from '../store/store.ts';

interface Deps {
  readonly families: Pick<RefreshStore, 'live'>;
  readonly directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers' | 'getApplication'>;
  /** The shared issuer; undefined: each request has the issuer of its host. */
  readonly issuer: string | undefined;
}

/** Counts the refresh families that a refresh would accept now, and would not after a change. */
export type CountEndedFamilies = (ends: Ends | undefined, call: () => CallOptions) => Promise<EndedCount>;

export function createFamilyCount(deps: Deps): CountEndedFamilies {
  return async (ends, call) => {
    const count = new EndedCount();
    if (ends === undefined) return count;
    const clients = new Map<string, ApplicationRecord | undefined>();
    const judge = judgeOf(ends, deps.issuer);
    for (const { scope, isCounted } of scopesOf(ends)) {
      for await (const page of pages(deps.families, scope)) {
        const ids = page.map(({ grant }) => grant.userId);
        const users = await usersById(deps.directory, ends.tenantId, ids, call());
        for (const { familyId: id, grant } of page) {
          const { clientId, userId } = grant;
          if (isCounted(grant)) continue;
          if (!clients.has(clientId))
            clients.set(clientId, await applicationById(deps.directory, clientId, call()));
          const [client, user] = [clients.get(clientId), users.get(userId)];
          if (user === undefined || !judge(client, user, grant)) continue;
          count.add({ id, username: user.username, clientId });
        }
      }
    }
    return count;
  };
}

/** What may hold families that end; no family is counted in two. */
function scopesOf({
  tenantId,
  ...ends
}: Ends): readonly { scope: LiveScope; isCounted: (grant: FoundFamily['grant']) => boolean }[] {
  if (ends.everything || ends.authenticationPolicy !== undefined)
    return [{ scope: { tenantId }, isCounted: () => false }];
  const clientIds = [...ends.clientIds, ...ends.applications.map(({ clientId }) => clientId)];
  const userIds = [...ends.userIds, ...ends.people.map(({ userId }) => userId)];
  const ofClients = new Set(clientIds);
  return [
    ...(clientIds.length === 0 ? [] : [{ scope: { tenantId, clientIds }, isCounted: () => false }]),
    ...partsOf({ everything: false, userIds }).map((part) => ({
      scope: { tenantId, userIds: part },
      isCounted: ({ clientId }: FoundFamily['grant']) => ofClients.has(clientId),
    })),
  ];
}

/** Whether a family works now and would not after the change, by what a refresh asks. */
function judgeOf(ends: Ends, issuer: string | undefined) {
  const [userIds, clientIds] = [new Set(ends.userIds), new Set(ends.clientIds)];
  const roles = new Map(ends.people.map(({ userId, roles: after }) => [userId, after]));
  const applications = new Map(ends.applications.map((after) => [after.clientId, after]));
  return (client: ApplicationRecord | undefined, user: User, grant: FoundFamily['grant']): boolean => {
    if (client?.tenant.tenantId !== ends.tenantId) return false;
    if (!isUsable(client, user, grant) || !isOfIssuer(issuer, client.tenant, grant)) return false;
    if (ends.everything || userIds.has(grant.userId) || clientIds.has(grant.clientId)) return true;
    const later = { ...user, roles: roles.get(grant.userId) ?? user.roles };
    const { authenticationPolicy = client.tenant.authenticationPolicy } = ends;
    const tenant = { ...client.tenant, authenticationPolicy };
    const application = applicationAfter(client.application, applications.get(grant.clientId));
    return !isUsable({ application, tenant }, later, grant);
  };
}

function applicationAfter(
  application: ApplicationRecord['application'],
  after: ApplicationAfter | undefined,
): ApplicationRecord['application'] {
  if (after === undefined) return application;
  const { allowedRoles, grantTypes, authenticationPolicy = application.authenticationPolicy } = after;
  const scopes = application.scopes.filter(({ name }) => after.scopes.includes(name));
  return { ...application, allowedRoles, grantTypes, scopes, authenticationPolicy };
}

async function* pages(families: Deps['families'], scope: LiveScope): AsyncGenerator<readonly FoundFamily[]> {
  let page = await families.live(scope, firstFamily, mostAtOnce);
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    yield page;
    page = page.length < mostAtOnce ? [] : await families.live(scope, last, mostAtOnce);
  }
}
