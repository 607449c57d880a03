import { logoutLocation, matchesRegistered } from '@tessera/oauth';
import { isServedAt, type DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit } from '../audit.ts';
import type { BrowserCall } from '../browser-call.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ProviderReturn, SignOutAtProvider } from './provider-logout.ts';

/** A request to sign out (contract GET /logout, OIDC RP-Initiated Logout §2); empty where a parameter is absent. */
export interface LogoutRequest {
  readonly clientId: string;
  readonly postLogoutRedirectUri: string;
  readonly state: string;
  /** Client of a valid id_token_hint. */
  readonly hintedClientId: string;
  /** The only destination is a registered URI that was requested, and only `state` is added to it. */
  readonly refuseFallback: boolean;
  /** A requested URI that is not registered is refused, and nothing ends. */
  readonly refuseUnregistered: boolean;
  readonly providerReturn: ProviderReturn;
}

export interface LoggedOut {
  /** Empty if the browser should see our own page. */
  readonly location: string;
  readonly sessionEnded: boolean;
  /** Where the browser signs out of its provider before that; empty if it need not. */
  readonly providerLocation: string;
  /** The requested URI was refused: the session continues. */
  readonly redirectUriRefused: boolean;
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
  readonly signOutAtProvider: SignOutAtProvider;
  readonly audit: AuthorizeAudit;
}): Logout {
  const { directory, sessions, signOutAtProvider, audit } = deps;

  /** Empty for our own page; undefined if the requested URI is refused. */
  async function destination(from: BrowserCall, request: LogoutRequest): Promise<string | undefined> {
    const clientId = clientOf(request);
    if (clientId === '') return '';
    const record = await directory.application(clientId, from.call.onward());
    if (record === undefined || !directory.isActive(record)) return '';
    if (!isServedAt(record.tenant, from.browser)) return '';
    const { tenantId, logoutRedirectUris, logoutRedirectUriPrefixes } = record.application;
    const wider = { redirectUriPrefixes: logoutRedirectUriPrefixes };
    const { postLogoutRedirectUri: asked, state, refuseFallback } = request;
    const added = { state, loggedOut: !refuseFallback };
    if (asked !== '' && matchesRegistered(logoutRedirectUris, asked, wider))
      return logoutLocation(asked, added);
    if (asked !== '') audit.logoutRedirectRejected(from, tenantId, clientId, asked);
    if (asked !== '' && request.refuseUnregistered) return undefined;
    const [fallback] = logoutRedirectUris;
    return fallback === undefined || refuseFallback ? '' : logoutLocation(fallback, added);
  }

  return async (from, request) => {
    const location = await destination(from, request);
    if (location === undefined) return refused;
    const over = await sessions.logout(from);
    const { tenantId = '', sessionId = '', earlierSessionIds = [] } = over?.session ?? {};
    const sessionEnded = over?.ended ?? false;
    const providerLocation = over && (await signOutAtProvider(from, over.session, request.providerReturn));
    const ended = { sessionEnded, tenantId, sessionId, earlierSessionIds };
    return { location, providerLocation: providerLocation ?? '', redirectUriRefused: false, ...ended };
  };
}

const refused: LoggedOut = {
  location: '',
  providerLocation: '',
  sessionEnded: false,
  redirectUriRefused: true,
  tenantId: '',
  sessionId: '',
  earlierSessionIds: [],
};

/** Empty if the request names two different clients (OIDC RP-Initiated Logout §2). */
function clientOf({ clientId, hintedClientId }: LogoutRequest): string {
  if (hintedClientId === '') return clientId;
  return clientId === '' || clientId === hintedClientId ? hintedClientId : '';
}
