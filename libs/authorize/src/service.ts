import { Code, ConnectError } from '@tessera/rpc';
import type { Handlers } from '@tessera/rpc';
import type { ChangeFeed } from '@tessera/stores';
import { LogoutNoticeResult } from '@tessera/proto-gen/authorize';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { AuthorizeAudit } from './audit.ts';
import type { Codes } from './codes/codes.ts';
import type { Dispatcher } from './interaction/dispatcher.ts';
import {
  browserCallOf,
  endedMessage,
  nextOf,
  ownPageOf,
  passwordOutcome,
  redirectOf,
  sessionMessage,
  sessionOf,
} from './messages.ts';
import type { AnswerFromProvider } from './interaction/answer-from-provider.ts';
import type { EndProviderSessions } from './logout/provider-logout.ts';
import type { LockOf } from './limits/person-lock.ts';
import type { ChangeOwnPassword } from './methods/password/own-password.ts';
import type { Logout } from './logout/end-session.ts';
import type { CountEndedConsents } from './consent/count-consents.ts';
import type { CountEndedSessions } from './sessions/count-sessions.ts';
import type { SessionsOfGrants } from './sessions/sessions-of-grants.ts';
import type { FindPresentPerson } from './interaction/present-person.ts';
import type { SessionEnd, SessionEndStore } from './store/session-ends.postgres.ts';
import type { LogoutNoticeStore } from './store/logout-notices.ts';

export interface AuthorizeDeps {
  readonly dispatcher: Dispatcher;
  readonly presentPerson: FindPresentPerson;
  readonly answerFromProvider: AnswerFromProvider;
  readonly logout: Logout;
  readonly endProviderSessions: EndProviderSessions;
  readonly changeOwnPassword: ChangeOwnPassword;
  readonly lockOf: LockOf;
  readonly codes: Codes;
  readonly sessionsOfGrants: SessionsOfGrants;
  readonly sessionEnds: ChangeFeed<SessionEnd>;
  readonly endStore: Pick<SessionEndStore, 'positionBefore'>;
  readonly notices: LogoutNoticeStore;
  readonly audit: Pick<AuthorizeAudit, 'logoutNotified'>;
  readonly countEndedSessions: CountEndedSessions;
  readonly countEndedConsents: CountEndedConsents;
}

/** A position that cannot be resumed, so that the watch starts at the present. */
const present = -1;

/** At most so many notices are taken by one call. */
const mostNotices = 100;

export function authorizeHandlers(deps: AuthorizeDeps): Handlers<typeof AuthorizeService> {
  const { dispatcher, logout, codes, sessionEnds, endStore } = deps;
  const startOf = async (afterSequence: bigint | undefined, since: bigint): Promise<number> => {
    if (afterSequence !== undefined) return Number(afterSequence);
    return since > 0n ? endStore.positionBefore(Number(since)) : present;
  };
  return {
    ...noticeHandlers(deps),
    ...grantSessionHandlers(deps),

    async begin({ browser, visit }, call) {
      const from = browserCallOf(browser, call);
      if (visit.case === 'request') return { next: nextOf(await dispatcher.begin(from, visit.value)) };
      return { next: nextOf(await dispatcher.beginAtPage(from, ownPageOf(visit.value))) };
    },

    async getInteraction({ browser, interactionId }, call) {
      const shown = await dispatcher.show(browserCallOf(browser, call), interactionId);
      if (shown.next === 'redirect') return { redirect: redirectOf(shown.redirect) };
      const { next } = nextOf(shown);
      return next.case === 'step' ? { step: next.value } : {};
    },

    async continue({ browser, visit, step, fields }, call) {
      const submitted = visit.case === 'interactionId' ? visit.value : ownPageOf(visit.value);
      const from = browserCallOf(browser, call);
      const { next, opened } = await dispatcher.continue(from, { visit: submitted, step, fields });
      sessionEnds.poke();
      return { next: nextOf(next), ...(opened && { session: sessionOf(opened) }) };
    },

    async answerFromProvider({ browser, tenantId, provider, query }, call) {
      const from = browserCallOf(browser, call);
      const answer = { tenantId, provider, query };
      const { next, opened, resume, linkProblem } = await deps.answerFromProvider(from, answer);
      sessionEnds.poke();
      const session = opened && sessionOf(opened);
      const linked = linkProblem === undefined ? {} : { linkProblem };
      return { next: nextOf(next), ...(session && { session }), resume, ...linked };
    },

    async getSession({ browser }, call) {
      const person = await deps.presentPerson(browserCallOf(browser, call));
      return person === undefined ? {} : { session: sessionMessage(person) };
    },

    async changePassword({ browser, presentPassword, newPassword }, call) {
      const from = browserCallOf(browser, call);
      const changed = await deps.changeOwnPassword(from, { presentPassword, newPassword });
      sessionEnds.poke();
      return { outcome: passwordOutcome(changed) };
    },

    async endSession({ browser, providerReturnUri: uri, providerReturnState: state, ...request }, call) {
      const asked = { ...request, providerReturn: { uri, state } };
      const { earlierSessionIds, ...loggedOut } = await logout(browserCallOf(browser, call), asked);
      sessionEnds.poke();
      return { ...loggedOut, earlierSessionIds: [...earlierSessionIds] };
    },

    async endProviderSessions(sent, call) {
      const ended = await deps.endProviderSessions(sent, call);
      sessionEnds.poke();
      return ended === undefined ? { refused: true } : { sessions: ended.map(endedMessage) };
    },

    async redeemCode(request, call) {
      const { grant, ...redeemed } = await codes.redeem({ ...request, requestId: call.requestId });
      return { userGrant: grant, ...redeemed };
    },

    async getLock(person, call) {
      return { endsAtMs: BigInt(await deps.lockOf(person, call.onward())) };
    },

    async countEndedSessions({ ends }, call) {
      return { sessions: await deps.countEndedSessions(ends, () => call.onward()) };
    },

    async countEndedConsents({ ends }, call) {
      return { consents: await deps.countEndedConsents(ends, () => call.onward()) };
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

function grantSessionHandlers({
  sessionsOfGrants,
  sessionEnds,
}: Pick<AuthorizeDeps, 'sessionsOfGrants' | 'sessionEnds'>): Pick<
  Handlers<typeof AuthorizeService>,
  'checkSessions' | 'endSessionOfGrant'
> {
  return {
    async checkSessions({ tenantId, sessionIds, uses }) {
      const live = await sessionsOfGrants.check(tenantId, sessionIds, uses);
      return {
        sessions: live.map(({ askedId, idleSeconds, remainingSeconds }) => ({
          sessionId: askedId,
          idleSeconds: Math.floor(idleSeconds),
          remainingSeconds: Math.floor(remainingSeconds),
        })),
      };
    },

    async endSessionOfGrant({ tenantId, sessionId, clientId, ipAddress }, { requestId }) {
      const actor = { type: 'client', id: clientId } as const;
      const by = { actor, clientId, requestId, ...(ipAddress !== '' && { ipAddress }) };
      const ended = await sessionsOfGrants.end(by, { tenantId, sessionId });
      sessionEnds.poke();
      return ended === undefined ? {} : { session: endedMessage(ended) };
    },
  };
}

function noticeHandlers({
  notices,
  audit,
}: Pick<AuthorizeDeps, 'notices' | 'audit'>): Pick<
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
          requireDelay(delaySeconds);
          await notices.retry(notice, delaySeconds);
          break;
        case LogoutNoticeResult.GIVE_BACK:
          requireDelay(delaySeconds);
          await notices.giveBack(notice, delaySeconds);
          break;
        case LogoutNoticeResult.UNSPECIFIED:
          throw new ConnectError('A result is required.', Code.InvalidArgument);
      }
      return {};
    },
  };
}

/** A week: no notice is delivered later. */
const longestDelaySeconds = 604_800;

function requireDelay(seconds: number): void {
  if (seconds >= 0 && seconds <= longestDelaySeconds) return;
  throw new ConnectError('The delay must be between 0 and 604800 seconds.', Code.InvalidArgument);
}
