import { eventBase } from '@tessera/audit';
import { usersById, type DirectoryClient } from '@tessera/directory-client';
import type { GrantsService, RevokeGrantsRequest } from '@tessera/proto-gen/admin-grants';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { TokenService } from '@tessera/proto-gen/token';
import {
  Code,
  ConnectError,
  invalidFields,
  pageRequest,
  pageOf,
  pageToken,
  timestampFromMs,
  type CallContext,
  type Client,
  type Handlers,
} from '@tessera/rpc';
import { isOfIssuer, isOfSession, isUsable } from '../usable.ts';
import type { LiveSessions } from '../verification/sessions-of-families.ts';
import { firstFamily, type FoundFamily, type LiveScope, type RefreshStore } from '../store/store.ts';
import { sanitizedReason } from './revoke-grant.ts';

export interface GrantCallsDeps {
  readonly families: Pick<RefreshStore, 'live' | 'revoke'>;
  readonly directory: Pick<DirectoryClient, 'application'>;
  readonly liveSessions: Pick<LiveSessions, 'among'>;
  readonly people: Pick<Client<typeof DirectoryService>, 'batchGetUsers'>;
  /** The shared issuer; undefined if each request has the issuer of its host. */
  readonly issuer: string | undefined;
  readonly onRevocation: () => void;
}

/** Whose grants are asked for. */
interface Whose {
  readonly tenantId: string;
  readonly userId: string;
  readonly clientId: string;
}

/** Grants that one call revokes at most. */
const mostRevoked = 1000;

/** The calls of administrators. */
export function grantCalls(
  deps: GrantCallsDeps & Pick<Handlers<typeof GrantsService>, 'countTokens'>,
): Handlers<typeof GrantsService> {
  return {
    async list({ tenantId, userId, clientId, ...asked }, context) {
      const whose = { tenantId, userId, clientId };
      const search = JSON.stringify([userId, clientId]);
      const { after, size } = pageRequest({ ...asked, search });
      const [ownerId = '', familyId = ''] = after.split(' ');
      const position = after === '' ? firstFamily : { ownerId, familyId };
      const found = await deps.families.live(scopeOf(whose), position, size + 1);
      const { page, last } = pageOf(found, { size });
      const grants = await usable(deps, tenantId, page.filter(isOf(whose)), context);
      return {
        grants: grants.map(({ family, username }) => ({ ...messageOf(family), username })),
        nextPageToken: pageToken(last && `${last.ownerId} ${last.familyId}`, { search }),
      };
    },

    async revokeGrants(request, context) {
      try {
        return request.grantId === ''
          ? await revokeAll(deps, request, context)
          : await revokeOne(deps, request, context);
      } finally {
        deps.onRevocation();
      }
    },

    countTokens: deps.countTokens,
  };
}

async function revokeOne(deps: GrantCallsDeps, request: RevokeGrantsRequest, context: CallContext) {
  const { grantId, userId, clientId } = request;
  if (userId !== '' || clientId !== '')
    throw invalidFields([{ field: 'grantId', description: 'stands alone' }]);
  const outcome = uuidShape.test(grantId)
    ? await revoke(deps, request, grantId, undefined, context)
    : 'unknown';
  if (outcome === 'unknown') throw new ConnectError('There is no such grant.', Code.NotFound);
  return { revoked: outcome === 'revoked' ? 1 : 0 };
}

async function revokeAll(deps: GrantCallsDeps, request: RevokeGrantsRequest, context: CallContext) {
  const found = await deps.families.live(scopeOf(request), firstFamily, mostRevoked + 1);
  let revoked = 0;
  for (const { familyId, grant } of found.slice(0, mostRevoked).filter(isOf(request))) {
    const outcome = await revoke(deps, request, familyId, grant.clientId, context);
    if (outcome === 'revoked') revoked += 1;
  }
  return { revoked, more: found.length > mostRevoked };
}

/** The calls of a person, whom the gateway knows from their session. */
export function ownGrantCalls(
  deps: GrantCallsDeps,
): Pick<Handlers<typeof TokenService>, 'listPersonGrants' | 'revokePersonGrants'> {
  return {
    async listPersonGrants({ tenantId, userId }, context) {
      const whose = { tenantId, userId, clientId: '' };
      const found = await deps.families.live(scopeOf(whose), firstFamily, mostRevoked);
      const grants = await usable(deps, tenantId, found, context);
      return { grants: grants.map(({ family }) => messageOf(family)) };
    },

    async revokePersonGrants({ tenantId, userId, clientId, ipAddress }, context) {
      const whose = { tenantId, userId, clientId };
      if (userId === '' || clientId === '')
        throw invalidFields([{ field: 'clientId', description: 'and userId are required' }]);
      const by = { actor: { type: 'user', id: userId }, requestId: context.requestId, ipAddress } as const;
      try {
        const found = await deps.families.live(scopeOf(whose), firstFamily, mostRevoked + 1);
        for (const { familyId } of found.slice(0, mostRevoked).filter(isOf(whose)))
          await deps.families.revoke({ familyId, owner: { tenantId, clientId }, reason: '', trail: by });
        return { more: found.length > mostRevoked };
      } finally {
        deps.onRevocation();
      }
    },
  };
}

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

async function revoke(
  { families }: GrantCallsDeps,
  { tenantId, reason }: RevokeGrantsRequest,
  familyId: string,
  clientId: string | undefined,
  context: CallContext,
) {
  const trail = { ...eventBase(context), requestId: context.requestId, ipAddress: '' };
  return families.revoke({ familyId, owner: { tenantId, clientId }, reason: sanitizedReason(reason), trail });
}

/** Throws ConnectError for nobody's. */
function scopeOf({ tenantId, userId, clientId }: Whose): LiveScope {
  if (userId !== '') return { tenantId, userIds: [userId] };
  if (clientId !== '') return { tenantId, clientIds: [clientId] };
  throw invalidFields([{ field: 'userId', description: 'or clientId is required' }]);
}

const isOf =
  ({ userId, clientId }: Whose) =>
  ({ grant }: FoundFamily): boolean =>
    (userId === '' || grant.userId === userId) && (clientId === '' || grant.clientId === clientId);

interface UsableFamily {
  readonly family: FoundFamily;
  /** Of the person. */
  readonly username: string;
}

/**
 * Those that a refresh would accept: a change of a record or the end of a session has ended the others, whatever their
 * rows say.
 */
async function usable(
  { directory, people, liveSessions, issuer }: GrantCallsDeps,
  tenantId: string,
  found: readonly FoundFamily[],
  context: CallContext,
): Promise<readonly UsableFamily[]> {
  const ids = found.map(({ grant }) => grant.userId);
  const users = await usersById(people, tenantId, ids, context.onward());
  const bound = found.map(({ grant }) => grant).filter(isOfSession);
  const live = await liveSessions.among(
    tenantId,
    bound.map(({ sessionId }) => sessionId),
    context.onward(),
  );
  const accepted = await Promise.all(
    found.map(async ({ grant }) => {
      const client = await directory.application(grant.clientId, context.onward());
      return (
        (!isOfSession(grant) || live.has(grant.sessionId)) &&
        isUsable(client, users.get(grant.userId), grant) &&
        client !== undefined &&
        isOfIssuer(issuer, client.tenant, grant)
      );
    }),
  );
  return found
    .filter((_family, at) => accepted[at] === true)
    .map((family) => ({ family, username: users.get(family.grant.userId)?.username ?? '' }));
}

function messageOf({ familyId, grant, createdAt, usedAt, expiresAt }: FoundFamily) {
  const { userId, clientId, scopes, resource, sessionId } = grant;
  return {
    grantId: familyId,
    userId,
    clientId,
    scopes,
    resource,
    sessionId,
    createTime: timestampFromMs(createdAt),
    lastUseTime: timestampFromMs(usedAt),
    expireTime: timestampFromMs(expiresAt),
  };
}
