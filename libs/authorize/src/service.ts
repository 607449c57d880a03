import { Code, ConnectError } from '@tessera/rpc';
import type { CallContext, Handlers } from '@tessera/rpc';
import type { ChangeFeed } from '@tessera/stores';
import type { DirectoryClient } from '@tessera/directory-client';
import { flatGrant, type ClientRedirect } from '@tessera/oauth';
import { LogoutNoticeResult } from '@tessera/proto-gen/authorize';
import type { AuthorizeService, BrowserContext } from '@tessera/proto-gen/authorize';
import type { AuthorizeAudit } from './audit.ts';
import type { StartAuthorization } from './authorization/start.ts';
import type { BrowserCall } from './browser.ts';
import type { Codes } from './authorization/codes.ts';
import type { DirectSignIn } from './sign-in/direct-sign-in.ts';
import type { Logout } from './sessions/logout.ts';
import type { OpenedSession, Sessions } from './sessions/sessions.ts';
import type { SessionEnd, SessionEndStore } from './store/session-ends.postgres.ts';
import type { LogoutNoticeStore } from './store/logout-notices.ts';
import type { SignIn } from './sign-in/sign-in.ts';

export interface AuthorizeParts {
  readonly startAuthorization: StartAuthorization;
  readonly signIn: SignIn;
  readonly signInDirect: DirectSignIn;
  readonly sessions: Sessions;
  readonly logout: Logout;
  readonly codes: Codes;
  readonly directory: DirectoryClient;
  readonly sessionEnds: ChangeFeed<SessionEnd>;
  readonly endStore: Pick<SessionEndStore, 'positionBefore'>;
  readonly notices: LogoutNoticeStore;
  readonly audit: Pick<AuthorizeAudit, 'logoutNotified'>;
}

/** A position that cannot be resumed, so that the watch starts at the present. */
const present = -1;

/** At most so many notices are taken by one call. */
const mostNotices = 100;

export function authorizeHandlers(parts: AuthorizeParts): Handlers<typeof AuthorizeService> {
  const {
    startAuthorization,
    signIn,
    signInDirect,
    sessions,
    logout,
    codes,
    directory,
    sessionEnds,
    endStore,
  } = parts;
  const startOf = async (afterSequence: bigint | undefined, since: bigint): Promise<number> => {
    if (afterSequence !== undefined) return Number(afterSequence);
    return since > 0n ? endStore.positionBefore(Number(since)) : present;
  };
  return {
    ...noticeHandlers(parts),

    async beginAuthorization({ browser, ...asked }, call) {
      const started = await startAuthorization(browserCallOf(browser, call), asked);
      switch (started.next) {
        case 'redirect':
          return { next: { case: 'redirect', value: redirectOf(started.redirect) } };
        case 'interaction':
          return { next: { case: 'interaction', value: started.interaction } };
        case 'tenant_mismatch':
          return { next: { case: 'tenantMismatch', value: { interaction: started.interaction } } };
      }
    },

    async getInteraction({ browser, interactionId }, call) {
      const shown = await signIn.describe(browserCallOf(browser, call), interactionId);
      if (shown.outcome === 'refused') return { redirect: redirectOf(shown.redirect) };
      return { interaction: shown.interaction };
    },

    async signIn({ browser, ...attempt }, call) {
      const result = await signIn.forRequest(browserCallOf(browser, call), attempt);
      sessionEnds.poke();
      switch (result.outcome) {
        case 'signed_in': {
          const value = { session: newSession(result.opened), redirect: redirectOf(result.redirect) };
          return { outcome: { case: 'signedIn', value } };
        }
        case 'wrong_credentials':
          return { outcome: { case: 'wrongCredentials', value: { interaction: result.interaction } } };
        case 'tenant_mismatch':
          return { outcome: { case: 'tenantMismatch', value: { interaction: result.interaction } } };
        case 'refused':
          return { outcome: { case: 'redirect', value: redirectOf(result.redirect) } };
      }
    },

    async signInDirect({ browser, ...attempt }, call) {
      const result = await signInDirect(browserCallOf(browser, call), attempt);
      sessionEnds.poke();
      if (result.outcome === 'signed_in') return { session: newSession(result.opened) };
      return { tenantMismatch: result.outcome === 'tenant_mismatch' };
    },

    async getSession({ browser }, call) {
      const session = await sessions.find(browserCallOf(browser, call));
      if (session === undefined) return {};
      const user = await directory.user(session.tenantId, session.userId, call.onward());
      if (user === undefined || !directory.isActive(user, session.authentication.time)) return {};
      const { sessionId, tenantId, userId, authentication } = session;
      const { username, name } = user;
      const authTime = BigInt(authentication.time);
      return { session: { sessionId, tenantId, userId, username, name, authTime, authentication } };
    },

    async endSession({ browser, ...request }, call) {
      const { earlierSessionIds, ...loggedOut } = await logout(browserCallOf(browser, call), request);
      sessionEnds.poke();
      return { ...loggedOut, earlierSessionIds: [...earlierSessionIds] };
    },

    async redeemCode(request, call) {
      const { grant, ...redeemed } = await codes.redeem({ ...request, requestId: call.requestId });
      return { grant: flatGrant(grant), userGrant: grant, ...redeemed };
    },

    async *watchSessionEnds({ afterSequence, since }, { signal }) {
      for await (const item of sessionEnds.watch(await startOf(afterSequence, since), signal)) {
        if (item.kind === 'position') {
          yield { sequence: BigInt(item.sequence) };
        } else {
          const { sequence, endedAt, ...ended } = item.change;
          yield { ...ended, sequence: BigInt(sequence), endedAt: BigInt(endedAt) };
        }
      }
    },
  };
}

function noticeHandlers({
  notices,
  audit,
}: Pick<AuthorizeParts, 'notices' | 'audit'>): Pick<
  Handlers<typeof AuthorizeService>,
  'takeLogoutNotices' | 'finishLogoutNotice'
> {
  return {
    async takeLogoutNotices({ limit, leaseSeconds, skippedClientIds }) {
      return { notices: await notices.take(Math.min(limit, mostNotices), leaseSeconds, skippedClientIds) };
    },

    async finishLogoutNotice({ notice, result, reason, delaySeconds }) {
      if (notice === undefined) throw new ConnectError('A notice is required.', Code.InvalidArgument);
      switch (result) {
        case LogoutNoticeResult.DELIVERED:
          await notices.finish(notice, audit.logoutNotified(notice, undefined));
          break;
        case LogoutNoticeResult.FAILED:
          await notices.finish(notice, audit.logoutNotified(notice, reason));
          break;
        case LogoutNoticeResult.RETRY:
          await notices.retry(notice, delaySeconds);
          break;
        case LogoutNoticeResult.GIVE_BACK:
          await notices.giveBack(notice, delaySeconds);
          break;
        case LogoutNoticeResult.UNSPECIFIED:
          throw new ConnectError('A result is required.', Code.InvalidArgument);
      }
      return {};
    },
  };
}

function browserCallOf(browser: BrowserContext | undefined, call: CallContext): BrowserCall {
  const {
    browserId = '',
    sessionToken = '',
    knownBrowserToken = '',
    ipAddress = '',
    userAgentHash = '',
    issuer = '',
    tenantId = '',
  } = browser ?? {};
  return {
    browser: { browserId, sessionToken, knownBrowserToken, ipAddress, userAgentHash, issuer, tenantId },
    call,
  };
}

function redirectOf({ location, formPost }: ClientRedirect) {
  if (formPost === undefined) return { location };
  return { location, formPost: { uri: formPost.uri, parameters: { ...formPost.parameters } } };
}

function newSession({ sessionToken, maxAge, knownBrowser, ended }: OpenedSession) {
  if (ended === undefined) return { sessionToken, maxAge, knownBrowser };
  const { tenantId, sessionId, earlierSessionIds } = ended;
  return {
    sessionToken,
    maxAge,
    knownBrowser,
    ended: { tenantId, sessionId, earlierSessionIds: [...earlierSessionIds] },
  };
}
