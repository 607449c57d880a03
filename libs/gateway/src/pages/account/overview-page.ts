import { browserName, type Values } from '@tessera/languages';
import type { Account } from '@tessera/proto-gen/account';
import { rootCall, timestampMs } from '@tessera/rpc';
import { accountPath, approvalsPath } from '../paths.ts';
import type { AccountContent, AccountSection, AccountView } from './sections/account-section.ts';

/** What a person should do, and the page on which they do it. */
interface Advice {
  readonly sentence: string;
  readonly values?: Values;
  readonly href: string;
  readonly label: string;
}

/** Who mistypes a password does it once or twice. */
const manyFailed = 3;

/** As many recovery codes as are soon used up. */
const fewCodes = 3;

const state: AccountSection = {
  name: 'overview',

  async show(view) {
    const { context, account, session } = view;
    const { tenantId, userId } = session;
    const { requests } = await context.gateway.peers.backchannel.listBackchannelAuthentications(
      { tenantId, userId },
      rootCall(context.request.incoming.requestId),
    );
    const advice = adviceFor(view, requests.length);
    const last = lastSignIn(account);
    return {
      advice,
      isWell: advice.length === 0,
      last: last && {
        time: last.time && timestampMs(last.time),
        ipAddress: last.ipAddress,
        ...browserName(last.userAgent),
      },
      passkeys: account.passkeys.length,
      hasTotp: account.hasTotp,
      devices: account.sessions.length,
      paths: {
        signIn: accountPath(tenantOf(view), 'sign-in'),
        devices: accountPath(tenantOf(view), 'devices'),
      },
    };
  },

  changes: {},
};

/** Whether all is well, and what to do where it is not. */
export const overview: AccountContent = { name: 'overview', template: 'account', sections: [state] };

/** For addresses: an issuer of a tenant's own says by itself where its people sign in. */
function tenantOf({ context, session }: AccountView): string | undefined {
  return context.request.incoming.tenant === undefined ? session.tenantId : undefined;
}

/** What waits, what is wrong and what is missing, in this order. */
function adviceFor(view: AccountView, waiting: number): Advice[] {
  const { account } = view;
  const { passkeys, hasTotp, providers, recoveryCodes, email, emailVerified, declared, sendsMail } = account;
  const tenantId = tenantOf(view);
  const failed = failedSince(account);
  const methods = { href: accountPath(tenantId, 'sign-in'), label: 'Sign-in methods' };
  const hasFactor = passkeys.length > 0 || hasTotp;
  const hasSecondWay = hasFactor || providers.some(({ linkTime }) => linkTime !== undefined);
  const all: readonly (readonly [boolean, Advice])[] = [
    [
      waiting > 0,
      {
        sentence:
          '{count, plural, =0 {Nothing is waiting for you.} one {One request is waiting for you.} other {# requests are waiting for you.}}',
        values: { count: waiting },
        href: approvalsPath(tenantId),
        label: 'Approvals',
      },
    ],
    [
      failed >= manyFailed,
      {
        sentence: 'Since your last sign-in, somebody has entered a wrong password or code several times.',
        href: accountPath(tenantId, 'activity'),
        label: 'Activity',
      },
    ],
    [
      !hasSecondWay,
      {
        sentence: 'You have no second way to sign in. Add a passkey or an authenticator app.',
        ...methods,
      },
    ],
    [
      hasFactor && recoveryCodes === 0,
      {
        sentence: 'You have no recovery codes. Get some now, in case you lose your device.',
        ...methods,
      },
    ],
    [
      hasFactor && recoveryCodes > 0 && recoveryCodes <= fewCodes,
      {
        sentence:
          '{count, plural, one {You have one recovery code left. Get new ones.} other {You have # recovery codes left. Get new ones.}}',
        values: { count: recoveryCodes },
        ...methods,
      },
    ],
    [
      sendsMail && !declared && email !== '' && !emailVerified,
      {
        sentence: 'Your email address is not confirmed yet.',
        href: accountPath(tenantId, 'profile'),
        label: 'Profile',
      },
    ],
  ];
  return all.flatMap(([isShown, advice]) => (isShown ? [advice] : []));
}

/** When the session of this browser began, in milliseconds; now if that is not known. */
function sessionBegan({ session, sessions }: Account): number {
  const here = sessions.find(({ sessionId }) => sessionId === session?.sessionId);
  return here?.createTime === undefined ? Number.POSITIVE_INFINITY : timestampMs(here.createTime);
}

/** The event of a sign-in is written a moment after its session. */
const momentMs = 10_000;

/** The sign-in before the one of this session; undefined if it is not on record. */
function lastSignIn(account: Account) {
  const began = sessionBegan(account) - momentMs;
  return account.activities.find(
    ({ event, time }) => event === 'auth.login.succeeded' && time !== undefined && timestampMs(time) < began,
  );
}

/** How many attempts have failed since then. */
function failedSince(account: Account): number {
  const last = lastSignIn(account)?.time;
  const since = last === undefined ? 0 : timestampMs(last);
  return account.activities.filter(
    ({ event, time }) => event === 'auth.login.failed' && time !== undefined && timestampMs(time) > since,
  ).length;
}
