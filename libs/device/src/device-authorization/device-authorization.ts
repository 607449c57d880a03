import type { DirectoryClient } from '@tessera/directory-client';
import { addressKey } from '@tessera/stores';
import type { CallContext } from '@tessera/rpc';
import type { Random } from '@tessera/kit';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { DeviceAudit, Trail } from '../audit.ts';
import { tooMany } from '../limits.ts';
import { prepareGrant, wholeSeconds } from '../start/grant-request.ts';
import type { PollSecrets } from '../polling/poll-secret.ts';
import { describeGrant, type PendingRequestView } from '../approval/request-details.ts';
import type { StartingClients, StartRequest } from '../start/client-admission.ts';
import type { GrantStore, GuessRule, Owner } from '../store/store.ts';
import { newUserCode, userCodeHash } from './user-code.ts';

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
   * Finds the pending request of a user code, for the person who is signed in, and makes it theirs to decide in this
   * session (CVE-2026-45337). Where nobody is signed in the answer names only the tenant. Throws one and the same
   * `not_found` for a code that is unknown, over, decided, of another tenant or opened by another person, and
   * `rate_limited` when codes are being guessed.
   */
  open(
    typed: string,
    owner: Owner | undefined,
    ipAddress: string,
    call: CallContext,
  ): Promise<PendingRequestView>;
}

export interface GuessLimits {
  readonly session: number;
  readonly address: number;
  readonly windowSeconds: number;
  /** From everybody together, within a minute. */
  readonly global: number;
}

/** RFC 8628 §5.1 with the length of our user codes: nothing may let one live longer. */
const longestLifetimeSeconds = 900;

/** Of 25 billion codes, two pending ones alike are rare and five times in a row are a broken source of randomness. */
const attempts = 5;

interface DeviceParts {
  readonly store: GrantStore;
  readonly clients: StartingClients;
  readonly records: DirectoryClient;
  readonly audit: DeviceAudit;
  readonly secrets: PollSecrets;
  readonly kit: { readonly random: Random; readonly clock: { now(): number } };
  readonly lifetimeSeconds: number;
  readonly intervalSeconds: number;
  readonly guesses: GuessLimits;
}

export function createDeviceAuthorizations(parts: DeviceParts): DeviceAuthorizations {
  return {
    start: (request, call) => start(parts, request, call),
    open: (typed, owner, ipAddress, call) => open(parts, { typed, owner, ipAddress }, call),
  };
}

async function start(parts: DeviceParts, request: StartRequest, call: CallContext): Promise<StartedDevice> {
  const { clients, store, audit, kit, secrets } = parts;
  return clients.admit('device_code', request, call, async (client) => {
    const lifetimeSeconds = Math.min(
      client.application.lifetimes?.authorizationRequest || parts.lifetimeSeconds,
      longestLifetimeSeconds,
    );
    const intervalSeconds = client.application.lifetimes?.pollInterval || parts.intervalSeconds;
    const options = { kind: 'device_code', lifetimeSeconds, intervalSeconds, bindingMessage: '' } as const;
    const { secret, grant } = prepareGrant(request, client, options, { random: kit.random, secrets });
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const userCode = newUserCode(kit.random);
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
  { store, records, audit, kit, guesses }: DeviceParts,
  { typed, owner, ipAddress }: { typed: string; owner: Owner | undefined; ipAddress: string },
  call: CallContext,
): Promise<PendingRequestView> {
  const trail: Trail = { requestId: call.requestId, ipAddress };
  const opening = await store.open(userCodeHash(typed), owner, guessRules(guesses, owner, ipAddress));
  if (opening.outcome === 'throttled') {
    audit.userCodeThrottled(trail, owner, opening.rule);
    throw tooMany(opening.retryAfterSeconds);
  }
  if (opening.outcome !== 'found') {
    audit.userCodeFailed(trail, owner, opening.outcome);
    throw unknownUserCode();
  }
  const view = await describeGrant(opening.grant, { records, clock: kit.clock }, call);
  if (view === undefined) throw unknownUserCode();
  if (owner !== undefined) return view;
  const nothing = { requestId: '', clientId: '', applicationName: '', ipAddress: '', scopes: [] };
  return { ...view, ...nothing };
}

/** Address and everybody count, so that fresh cookies buy no further guesses; the session is the tightest. */
function guessRules(limits: GuessLimits, owner: Owner | undefined, ipAddress: string): GuessRule[] {
  const { windowSeconds } = limits;
  const ofSession: GuessRule[] =
    owner === undefined
      ? []
      : [{ name: 'session', key: owner.sessionId, limit: limits.session, windowSeconds }];
  return [
    ...ofSession,
    { name: 'address', key: addressKey(ipAddress), limit: limits.address, windowSeconds },
    { name: 'global', key: '', limit: limits.global, windowSeconds: 60 },
  ];
}

function unknownUserCode(): OAuthError {
  return new OAuthError('not_found', 'The code is not valid or has expired.');
}
