import type { SessionsService } from '@tessera/proto-gen/admin-sessions';
import type { TokenService } from '@tessera/proto-gen/token';
import { OAuthError, outcomeUnknown } from '@tessera/oauth';
import { type CallOptions, type Client } from '@tessera/rpc';

type Sessions = Client<typeof SessionsService>;

/**
 * The sessions of `authorize`. `token` hears of each that is ended before the answer, as at a sign-out: from then on,
 * none of its codes is redeemed.
 */
export function notedEnds(
  sessions: Sessions,
  token: Pick<Client<typeof TokenService>, 'noteSessionEnd'>,
): Sessions {
  const note = async (tenantId: string, sessionId: string, call?: CallOptions): Promise<void> => {
    try {
      await token.noteSessionEnd({ tenantId, sessionId }, call);
    } catch (error) {
      // The session is over, and not all of the system has heard it.
      throw error instanceof OAuthError && error.code === 'temporarily_unavailable'
        ? outcomeUnknown(error)
        : error;
    }
  };
  return {
    list: async (request, call) => sessions.list(request, call),
    countSignIns: async (request, call) => sessions.countSignIns(request, call),
    async endSessions(request, call) {
      const answer = await sessions.endSessions(request, call);
      for (const { sessionId, earlierSessionIds } of answer.sessions)
        for (const each of [sessionId, ...earlierSessionIds]) await note(request.tenantId ?? '', each, call);
      return answer;
    },
  };
}
