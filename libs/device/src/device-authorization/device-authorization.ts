import type { DirectoryClient } from '@tessera/directory-client';
import { addressKey } from '@tessera/stores';
import type { CallContext } from '@tessera/rpc';
import type { Random } from '@tessera/kit';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { DeviceAudit } from '../audit.ts';
import type { FailureLimits } from '../config.ts';
import { tooMany } from '../limits.ts';
import { prepareGrant, wholeSeconds } from '../start/grant-request.ts';
import type { PollSecrets } from '../polling/poll-secret.ts';
import { requestDetails, type RequestDetails } from '../approval/request-details.ts';
import type { ClientAdmission, StartRequest } from '../start/client-admission.ts';
import type { GrantStore, FailureRule } from '../store/grant-store.ts';
import { newUserCode, userCodeHash } from './user-code.ts';
import type { Owner, Trail } from '../pending-grant.ts';

export interface StartedDevice {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresIn: number;
  readonly interval: number;
}

export interface DeviceAuthorizations {
  /**
   * RFC 8628 §3.1 and §3.2. Throws `invalid_client`, `unauthorized_client`, `invalid_scope`, `invalid_target`,
   * `rate_limited`.
   */
  start(request: StartRequest, call: CallContext): Promise<StartedDevice>;
  /**
   * Finds the pending request of a user code for the signed-in person, and binds it to them and their session
   * (CVE-2026-45337). If nobody is signed in, the result has only the tenant. Throws the same `not_found` for a code
   * that is unknown, expired, decided, of another tenant or opened by another person, `rate_limited` after too many
   * wrong codes, and `login_required` if nobody is signed in and all callers together entered too many.
   */
  open(
    typed: string,
    owner: Owner | undefined,
    ipAddress: string,
    call: CallContext,
  ): Promise<RequestDetails>;
}

/** The maximum that RFC 8628 §5.1 allows for user codes of our length. */
const longestLifetimeSeconds = 900;

/** Of wrong user codes of a person: they count across windows. */
const failuresADay = 100;

/** There are 25 billion codes, so a collision is rare. Five in a row mean that the random source is broken. */
const attempts = 5;

interface DeviceDeps {
  readonly store: GrantStore;
  readonly admission: ClientAdmission;
  readonly directory: DirectoryClient;
  readonly audit: DeviceAudit;
  readonly secrets: PollSecrets;
  readonly runtime: { readonly random: Random; readonly clock: { now(): number } };
  readonly lifetimeSeconds: number;
  readonly intervalSeconds: number;
  readonly failureLimits: FailureLimits;
}

export function createDeviceAuthorizations(deps: DeviceDeps): DeviceAuthorizations {
  return {
    start: (request, call) => start(deps, request, call),
    open: (typed, owner, ipAddress, call) => open(deps, { typed, owner, ipAddress }, call),
  };
}

async function start(deps: DeviceDeps, request: StartRequest, call: CallContext): Promise<StartedDevice> {
  const { admission, store, audit, runtime, secrets } = deps;
  return admission.admit('device_code', request, call, async (client) => {
    const lifetimeSeconds = Math.min(
      client.application.lifetimes?.authorizationRequest || deps.lifetimeSeconds,
      longestLifetimeSeconds,
    );
    const intervalSeconds = client.application.lifetimes?.pollInterval || deps.intervalSeconds;
    const options = { kind: 'device_code', lifetimeSeconds, intervalSeconds, bindingMessage: '' } as const;
    const { secret, grant } = prepareGrant(request, client, options, { random: runtime.random, secrets });
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const userCode = newUserCode(runtime.random);
      if ((await store.startDevice(grant, userCodeHash(userCode))) === 'user_code_taken') continue;
      audit.started(client.trail, grant.request, undefined);
      return {
        deviceCode: secret,
        userCode,
        expiresIn: Math.floor(lifetimeSeconds),
        interval: wholeSeconds(intervalSeconds),
      };
    }
    throw temporarilyUnavailable(new Error('no free user code was found'));
  });
}

async function open(
  { store, directory, audit, runtime, failureLimits }: DeviceDeps,
  { typed, owner, ipAddress }: { typed: string; owner: Owner | undefined; ipAddress: string },
  call: CallContext,
): Promise<RequestDetails> {
  const trail: Trail = { requestId: call.requestId, ipAddress };
  const opening = await store.open(userCodeHash(typed), owner, failureRules(failureLimits, owner, ipAddress));
  if (opening.outcome === 'throttled') {
    audit.userCodeThrottled(trail, owner, opening.rule);
    if (opening.rule === 'global') throw signInFirst();
    throw tooMany(opening.retryAfterSeconds);
  }
  if (opening.outcome !== 'found') {
    audit.userCodeFailed(trail, owner, opening.outcome);
    throw unknownUserCode();
  }
  const view = await requestDetails(opening.grant, { directory, clock: runtime.clock }, call);
  if (view === undefined) throw unknownUserCode();
  if (owner !== undefined) return view;
  const nothing = { requestId: '', clientId: '', applicationName: '', ipAddress: '', scopes: [] };
  return { ...view, ...nothing };
}

/**
 * A person has a limit over all their sessions, and so has an address, so that new cookies give no further attempts.
 * The limit of all callers together is for those who are not signed in: it must not stop the flow for everyone.
 */
function failureRules(limits: FailureLimits, owner: Owner | undefined, ipAddress: string): FailureRule[] {
  const { windowSeconds } = limits;
  const address = {
    name: 'address',
    key: addressKey(ipAddress),
    limit: limits.address,
    windowSeconds,
  } as const;
  if (owner === undefined) {
    return [address, { name: 'global', key: '', limit: limits.global, windowSeconds: 60 }];
  }
  const person = `${owner.tenantId}\0${owner.userId}`;
  return [
    { name: 'session', key: owner.sessionId, limit: limits.session, windowSeconds },
    { name: 'person', key: person, limit: limits.person, windowSeconds },
    {
      name: 'person_day',
      key: person,
      limit: Math.max(failuresADay, limits.person),
      windowSeconds: 24 * 3600,
    },
    address,
  ];
}

function signInFirst(): OAuthError {
  return new OAuthError('login_required', 'Sign in before you enter a code.');
}

function unknownUserCode(): OAuthError {
  return new OAuthError('not_found', 'The code is not valid or has expired.');
}
