import { within, TimeLimitError } from '@tessera/kit';
import { OAuthError, temporarilyUnavailable, waitingPhase } from '@tessera/oauth';
import type { RepeatedWarnings } from '@tessera/telemetry';
import type { DirectoryClient } from '@tessera/directory-client';
import type { CallContext } from '@tessera/rpc';
import type { BrowserCall } from '../browser-call.ts';
import type { ProviderAudit } from '../methods/upstream/provider-audit.ts';
import type { ProviderExchange } from '../methods/upstream/provider-exchange.ts';
import { invalidAnswer, ProviderUnreachableError, refusalOf } from '../methods/upstream/provider-refusals.ts';
import type { Reach } from '../methods/upstream/provider.ts';
import { withProvider } from '../methods/upstream/with-provider.ts';
import { createUsedValues } from '../methods/upstream/used-values.postgres.ts';
import type { EndedSession, IdentifiedSession } from '../store/session-store.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { saidOver } from './logout-token.ts';
import { idTokenOf } from '../methods/upstream/upstream-session.ts';

/** Where a provider sends the browser back after it signed out there, and what it brings. */
export interface ProviderReturn {
  /** Empty: the browser does not go there. */
  readonly uri: string;
  readonly state: string;
}

/**
 * Where the browser signs out of the provider of a session; empty if it need not, or the provider cannot be reached.
 */
export type SignOutAtProvider = (
  from: BrowserCall,
  session: Pick<IdentifiedSession, 'tenantId' | 'upstream'>,
  back: ProviderReturn,
) => Promise<string>;

/** A logout token, and to the address of which provider it was sent. */
export interface SentLogoutToken {
  /** That was asked, and the tenant whose own it is; empty at the shared issuer. */
  readonly issuer: string;
  readonly issuerTenantId: string;
  readonly tenantId: string;
  readonly provider: string;
  readonly logoutToken: string;
  readonly ipAddress: string;
}

/**
 * Ends what a provider says is over; undefined if it says nothing of that kind. Throws `temporarily_unavailable` while
 * it is not known.
 */
export type EndProviderSessions = (
  sent: SentLogoutToken,
  call: CallContext,
) => Promise<EndedSession[] | undefined>;

/** Seconds since a logout token was made. */
const longestLogoutToken = 600;

const unreachable = 'a provider that says a session is over cannot be reached';

/** Made once, and without a cause, so that it is not logged for each: anybody may send a token. */
const notKnown = temporarilyUnavailable(undefined, 2).withRefusal({ phase: waitingPhase });

/** Who signs out does not wait for a provider that is slow. */
const timeoutMs = 1_500;

export function createSignOutAtProvider({
  exchange,
  reach,
}: {
  readonly exchange: Pick<ProviderExchange, 'declared'>;
  readonly reach: Reach;
}): SignOutAtProvider {
  return async (from, { tenantId, upstream }, { uri, state }) => {
    if (upstream === undefined || uri === '') return '';
    const to = await exchange.declared(from, tenantId, upstream.provider);
    if (to?.signsOut !== true || to.issuer !== upstream.issuer) return '';
    const idToken = idTokenOf(upstream, from.browser.browserId);
    const hint =
      idToken === undefined ? { logout_hint: upstream.sid ?? upstream.subject } : { id_token_hint: idToken };
    try {
      const parameters = { ...hint, post_logout_redirect_uri: uri, state };
      const url = withProvider(to, reach, from.browser.ipAddress, (opened) =>
        opened.endSessionUrl(parameters),
      );
      return (await within(timeoutMs, url)) ?? '';
    } catch (error) {
      if (error instanceof ProviderUnreachableError || error instanceof TimeLimitError) return '';
      // Too many wait for it.
      if (error instanceof OAuthError) return '';
      throw error;
    }
  };
}

export function createEndProviderSessions({
  exchange,
  reach,
  directory,
  sessions,
  audit,
  warnings,
}: {
  readonly exchange: Pick<ProviderExchange, 'declared'>;
  readonly reach: Reach;
  readonly directory: Pick<DirectoryClient, 'isTenantServedAt'>;
  readonly sessions: Pick<Sessions, 'endUpstream'>;
  readonly audit: Pick<ProviderAudit, 'logoutRefused'>;
  readonly warnings: RepeatedWarnings;
}): EndProviderSessions {
  return async ({ issuer, issuerTenantId, tenantId, provider, logoutToken, ipAddress }, call) => {
    const at = { issuer, tenantId: issuerTenantId };
    const isHere = await directory.isTenantServedAt(tenantId, at, call.onward());
    const to = isHere ? await exchange.declared({ call }, tenantId, provider) : undefined;
    if (to === undefined) return undefined;
    const by = { requestId: call.requestId, ipAddress };
    try {
      const claims = await withProvider(to, reach, ipAddress, (opened) =>
        opened.logoutToken(logoutToken, longestLogoutToken),
      );
      const { jti, ...over } = saidOver(claims);
      // No token is accepted longer than that.
      const lifetimeSeconds = longestLogoutToken + 120;
      const ended = await sessions.endUpstream(
        by,
        { tenantId, provider, issuer: to.issuer, ...over },
        async (tx) => createUsedValues(tx).use(['logout token', tenantId, to.issuer, jti], lifetimeSeconds),
      );
      if (ended === undefined) throw invalidAnswer('it was used before');
      return ended;
    } catch (error) {
      const refused = refusalOf(error);
      if (refused === undefined) throw error;
      const isUnreachable = error instanceof ProviderUnreachableError;
      const fields = { tenantId, provider, details: refused.detail };
      // An outage has one line and one row in a minute, however many tokens come.
      if (!isUnreachable || warnings.warn(`${tenantId} ${provider}`, fields, unreachable))
        audit.logoutRefused({ ...by, tenantId }, provider, refused);
      if (isUnreachable) throw notKnown;
      return undefined;
    }
  };
}
