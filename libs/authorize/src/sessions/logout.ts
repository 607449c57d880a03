import { logoutLocation, matchesRegistered } from '@tessera/oauth';
import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit } from '../audit.ts';
import type { Visit } from '../browser.ts';
import type { Sessions } from './sessions.ts';

/** A request to sign out (contract GET /logout, OIDC RP-Initiated Logout §2); empty where a parameter is absent. */
export interface LogoutRequest {
  readonly clientId: string;
  readonly postLogoutRedirectUri: string;
  readonly state: string;
  /** Client proven by a valid id_token_hint. */
  readonly hintedClientId: string;
  readonly refuseFallback: boolean;
}

export interface LoggedOut {
  /** Empty when the browser should see our own page. */
  readonly location: string;
  readonly sessionEnded: boolean;
  /** Of the session the browser had, ended now or before; empty when it had none. */
  readonly tenantId: string;
  readonly sessionId: string;
  /** Of that person, replaced lately: their codes are over with its own. */
  readonly earlierSessionIds: readonly string[];
}

export type Logout = (visit: Visit, request: LogoutRequest) => Promise<LoggedOut>;

/** Finds where to go before anything is ended, so that trouble on the way leaves a request that can be repeated. */
export function createLogout(deps: {
  readonly records: DirectoryClient;
  readonly sessions: Sessions;
  readonly audit: AuthorizeAudit;
}): Logout {
  const { records, sessions, audit } = deps;

  async function destination(visit: Visit, request: LogoutRequest): Promise<string> {
    const clientId = clientOf(request);
    if (clientId === '') return '';
    const record = await records.application(clientId, visit.call.onward());
    if (record === undefined || !records.isActive(record)) return '';
    const { tenantId, logoutRedirectUris } = record.application;
    const asked = request.postLogoutRedirectUri;
    if (asked !== '' && matchesRegistered(logoutRedirectUris, asked)) {
      return logoutLocation(asked, request.state);
    }
    if (asked !== '') audit.logoutRedirectRejected(visit, tenantId, clientId);
    const [fallback] = logoutRedirectUris;
    if (fallback === undefined || (asked !== '' && request.refuseFallback)) return '';
    return logoutLocation(fallback, request.state);
  }

  return async (visit, request) => {
    const location = await destination(visit, request);
    const over = await sessions.logout(visit);
    const { tenantId = '', sessionId = '', earlierSessionIds = [] } = over?.session ?? {};
    return { location, sessionEnded: over?.ended ?? false, tenantId, sessionId, earlierSessionIds };
  };
}

/** Two different clients in one request are no client (OIDC RP-Initiated Logout §2). */
function clientOf({ clientId, hintedClientId }: LogoutRequest): string {
  if (hintedClientId === '') return clientId;
  return clientId === '' || clientId === hintedClientId ? hintedClientId : '';
}
