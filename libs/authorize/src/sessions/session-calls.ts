import { eventBase } from '@tessera/audit';
import { usersById } from '@tessera/directory-client';
import type { SessionsService } from '@tessera/proto-gen/admin-sessions';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import {
  Code,
  ConnectError,
  invalidFields,
  pageRequest,
  pageOf,
  pageToken,
  timestampFromMs,
  type Client,
  type Handlers,
} from '@tessera/rpc';
import { firstPosition } from '../store/session-store.postgres.ts';
import type { EndedSession, LiveSession, SessionStore } from '../store/session-store.ts';
import { counts } from './counts.ts';
import type { Sessions } from './sessions.ts';

/** Sessions of a person that are read at once in order to end them. */
const endedAtOnce = 100;

/** The calls of administrators. */
export function sessionCalls({
  store,
  sessions,
  directory,
  idleSeconds,
  countSignIns,
  onEnd,
}: {
  readonly store: Pick<SessionStore, 'live'>;
  readonly sessions: Pick<Sessions, 'endFor'>;
  readonly directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers' | 'getTenant'>;
  readonly idleSeconds: number;
  readonly countSignIns: Handlers<typeof SessionsService>['countSignIns'];
  readonly onEnd: () => void;
}): Handlers<typeof SessionsService> {
  const scopeOf = (tenantId: string, userId: string) => ({
    tenantId,
    idleSeconds,
    ...(userId !== '' && { userIds: [userId] }),
  });
  return {
    countSignIns,
    async list({ tenantId, userId, ...asked }, context) {
      const { after, size } = pageRequest({ ...asked, search: userId });
      const [user = '', sessionId = ''] = after.split(' ');
      const found = await store.live(
        scopeOf(tenantId, userId),
        { tenantId, userId: user, sessionId },
        size + 1,
      );
      const { page, last } = pageOf(found, { size });
      const ids = page.map((session) => session.userId);
      const users = await usersById(directory, tenantId, ids, context.onward());
      const { tenant } = ids.length === 0 ? {} : await directory.getTenant({ tenantId }, context.onward());
      return {
        // A change of its person or tenant has ended the others, whatever their rows say.
        sessions: page
          .filter(({ userId: id, authentication }) => counts(tenant, users.get(id), authentication))
          .map((session) => messageOf(session, users.get(session.userId)?.username)),
        nextPageToken: pageToken(last && `${last.userId} ${last.sessionId}`, { search: userId }),
      };
    },

    async endSessions({ tenantId, whose }, context) {
      const by = eventBase(context);
      try {
        if (whose.case === 'sessionId') {
          const ended = await sessions.endFor(by, { tenantId, sessionId: whose.value });
          if (ended === undefined) throw new ConnectError('There is no such session.', Code.NotFound);
          return { sessions: [endedMessage(ended)] };
        }
        if (whose.case === undefined || whose.value === '')
          throw invalidFields([{ field: 'sessionId', description: 'or userId is required' }]);
        const over: EndedSession[] = [];
        for (let page: LiveSession[] | undefined; page === undefined || page.length === endedAtOnce;) {
          page = await store.live(scopeOf(tenantId, whose.value), firstPosition, endedAtOnce);
          for (const { sessionId } of page) {
            const ended = await sessions.endFor(by, { tenantId, sessionId });
            if (ended !== undefined) over.push(ended);
          }
        }
        return { sessions: over.map(endedMessage) };
      } finally {
        onEnd();
      }
    },
  };
}

function messageOf(session: LiveSession, username = '') {
  const { sessionId, userId, ipAddress, userAgent, userAgentHash, authentication } = session;
  return {
    sessionId,
    userId,
    username,
    ipAddress,
    userAgent,
    userAgentHash,
    methods: authentication.methods,
    createTime: timestampFromMs(session.createdAt),
    lastUseTime: timestampFromMs(session.lastSeenAt),
    expireTime: timestampFromMs(session.expiresAt),
  };
}

function endedMessage({ sessionId, earlierSessionIds }: EndedSession) {
  return { sessionId, earlierSessionIds: [...earlierSessionIds] };
}
