import { Code, ConnectError, create } from '@tessera/rpc';
import type { CallContext } from '@tessera/rpc';
import type { ClientRedirect } from '@tessera/oauth';
import { NextSchema, OwnPage_Name } from '@tessera/proto-gen/authorize';
import type {
  BrowserContext,
  Next as NextMessage,
  OwnPage as OwnPageMessage,
} from '@tessera/proto-gen/authorize';
import type { BrowserCall } from './browser-call.ts';
import type { Next, OwnPage } from './interaction/next.ts';
import type { PasswordChanged } from './methods/password/own-password.ts';
import type { PresentPerson } from './interaction/present-person.ts';
import type { OpenedSession } from './sessions/sessions.ts';
import type { EndedSession } from './store/session-store.ts';

/** In characters. It is kept with the session. */
const longestUserAgent = 256;
const longestLanguages = 256;

/** The browser that the gateway describes, and its call. */
export function browserCallOf(browser: BrowserContext | undefined, call: CallContext): BrowserCall {
  const {
    browserId = '',
    sessionToken = '',
    knownBrowserToken = '',
    ipAddress = '',
    userAgentHash = '',
    userAgent = '',
    issuer = '',
    tenantId = '',
    languages = '',
  } = browser ?? {};
  return {
    browser: {
      browserId,
      sessionToken,
      knownBrowserToken,
      ipAddress,
      userAgentHash,
      userAgent: userAgent.slice(0, longestUserAgent),
      issuer,
      tenantId,
      languages: languages.slice(0, longestLanguages),
    },
    call,
  };
}

const purposes: Readonly<Partial<Record<OwnPage_Name, OwnPage['purpose']>>> = {
  [OwnPage_Name.DEVICE]: 'device',
  [OwnPage_Name.APPROVALS]: 'approvals',
  [OwnPage_Name.PASSWORD]: 'password',
  [OwnPage_Name.ACCOUNT]: 'account',
  [OwnPage_Name.ACCOUNT_CHANGE]: 'account_change',
  [OwnPage_Name.ADD_PASSKEY]: 'add_passkey',
  [OwnPage_Name.ADD_TOTP]: 'add_totp',
  [OwnPage_Name.NEW_RECOVERY_CODES]: 'new_recovery_codes',
};

/** Throws `InvalidArgument` for a message that names no page. */
export function ownPageOf(page: OwnPageMessage | undefined): OwnPage {
  const { name = OwnPage_Name.UNSPECIFIED, tenantId = '', clientId = '' } = page ?? {};
  const purpose = purposes[name];
  if (purpose !== undefined) return { purpose, tenantId, clientId };
  throw new ConnectError('A visit is required.', Code.InvalidArgument);
}

/** What comes next, as a message. */
export function nextOf(next: Next): NextMessage {
  switch (next.next) {
    case 'step': {
      const { step: name, interaction, problem, shown } = next;
      return create(NextSchema, { next: { case: 'step', value: { name, interaction, problem, shown } } });
    }
    case 'redirect':
      return create(NextSchema, { next: { case: 'redirect', value: redirectOf(next.redirect) } });
    case 'tenant_mismatch':
      return create(NextSchema, {
        next: { case: 'tenantMismatch', value: { interaction: next.interaction } },
      });
    case 'done':
      return create(NextSchema, { next: { case: 'done', value: {} } });
  }
}

export function redirectOf({ location, formPost }: ClientRedirect) {
  if (formPost === undefined) return { location };
  const { uri, clientId, parameters } = formPost;
  return { formPost: { uri, clientId, parameters: { ...parameters } } };
}

/** What came of a change of the password, as a message. */
export function passwordOutcome(changed: PasswordChanged) {
  switch (changed.outcome) {
    case 'changed':
      return { case: 'session', value: sessionOf(changed.opened) } as const;
    case 'refused':
      return { case: 'passwordProblem', value: changed.problem } as const;
    case 'wrong':
      return { case: 'wrongPassword', value: {} } as const;
    case 'signed_out':
      return { case: 'signedOut', value: {} } as const;
  }
}

/** Who is signed in, as a message. */
export function sessionMessage({ session, user: { username, name } }: PresentPerson) {
  const { sessionId, tenantId, userId, authentication } = session;
  return { sessionId, tenantId, userId, username, name, authentication };
}

export function endedMessage({ tenantId, sessionId, earlierSessionIds }: EndedSession) {
  return { tenantId, sessionId, earlierSessionIds: [...earlierSessionIds] };
}

export function sessionOf({ sessionToken, maxAge, knownBrowser, ended }: OpenedSession) {
  if (ended === undefined) return { sessionToken, maxAge, knownBrowser };
  return { sessionToken, maxAge, knownBrowser, ended: endedMessage(ended) };
}
