import { logoutLocation, matchesRegistered } from '@tessera/oauth';
import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit } from '../audit.ts';
import type { BrowserCall } from '../browser.ts';
import type { Sessions } from './sessions.ts';

/** A request to sign out (contract GET /logout, OIDC RP-Initiated Logout §2); empty where a parameter is absent. */
export interface LogoutRequest {
  readonly clientId: string;
  readonly postLogoutRedirectUri: string;
  readonly state: string;
  /** Client of a valid id_token_hint. */
  readonly hintedClientId: string;
  readonly refuseFallback: boolean;
}

export interface LoggedOut {
  /** Empty if the browser should see our own page. */
  readonly location: string;
  readonly sessionEnded: boolean;
  /** Of the session the browser had, live or ended; empty if it had none. */
  readonly tenantId: string;
  readonly sessionId: string;
  /** Recently replaced sessions of the same person, whose codes end with this session's. */
  readonly earlierSessionIds: readonly string[];
}

export type Logout = (from: BrowserCall, request: LogoutRequest) => Promise<LoggedOut>;

/** Determines the destination before it ends anything, so that the request can be repeated if a call fails. */
export function createLogout(deps: {
  readonly directory: DirectoryClient;
  readonly sessions: Sessions;
  readonly audit: AuthorizeAudit;
}): Logout {
  const { directory, sessions, audit } = deps;

  async function destination(from: BrowserCall, request: LogoutRequest): Promise<string> {
    const clientId = clientOf(request);
    if (clientId === '') return '';
    const record = await directory.application(clientId, from.call.onward());
    if (record === undefined || !directory.isActive(record)) return '';
    const { tenantId, logoutRedirectUris } = record.application;
    const asked = request.postLogoutRedirectUri;
    if (asked !== '' && matchesRegistered(logoutRedirectUris, asked)) {
      return logoutLocation(asked, request.state);
    }
    if (asked !== '') audit.logoutRedirectRejected(from, tenantId, clientId);
    const [fallback] = logoutRedirectUris;
    if (fallback === undefined || (asked !== '' && request.refuseFallback)) return '';
    return logoutLocation(fallback, request.state);
  }

  return async (from, request) => {
    const location = await destination(from, request);
    const over = await sessions.logout(from);
    const { tenantId = '', sessionId = '', earlierSessionIds = [] } = over?.session ?? {};
    return { location, sessionEnded: over?.ended ?? false, tenantId, sessionId, earlierSessionIds };
  };
}

/** Empty if the request names two different clients (OIDC RP-Initiated Logout §2). */
function clientOf({ clientId, hintedClientId }: LogoutRequest): string {
  if (hintedClientId === '') return clientId;
  return clientId === '' || clientId === hintedClientId ? hintedClientId : '';
}
