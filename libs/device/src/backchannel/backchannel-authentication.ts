import type { DirectoryClient } from '@tessera/directory-client';
import { Code, ConnectError } from '@tessera/rpc';
import type { CallContext, Client } from '@tessera/rpc';
import { normalizeStart, startOf, type Random } from '@tessera/kit';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
import { ApplicationType, type DirectoryService, type User } from '@tessera/proto-gen/directory';
import type { ApprovalChannels, ApprovalChannel } from '../approval/approval-channel.ts';
import type { DeviceAudit, Unprompted } from '../audit.ts';
import type { CallbackEncryption } from '../delivery/callback.ts';
import { isPinged } from './delivery-mode.ts';
import { digest, reference } from '../digest.ts';
import { count, separately } from '../limits.ts';
import { prepareGrant, wholeSeconds } from '../start/grant-request.ts';
import { requestDetails, type RequestDetails } from '../approval/request-details.ts';
import type { PollSecrets } from '../polling/poll-secret.ts';
import type { AdmittedClient, ClientAdmission, StartRequest } from '../start/client-admission.ts';
import type { GrantStore, NewGrant } from '../store/grant-store.ts';

export interface BackchannelRequest extends StartRequest {
  /** User name, e-mail address or phone number. */
  readonly loginHint: string;
  /** Empty when absent. */
  readonly bindingMessage: string;
  /** Seconds; 0 when absent. */
  readonly requestedExpiry: number;
  /** Empty when absent. */
  readonly clientNotificationToken: string;
}

export interface StartedBackchannel {
  readonly authReqId: string;
  readonly expiresIn: number;
  readonly interval: number;
}

export interface BackchannelAuthentications {
  /**
   * CIBA Core §7.1 to §7.3. For a person who does not exist, is not active, may not use the application or has too many
   * pending requests, the answer is the same as for any other, but no user is prompted. Throws `invalid_client`,
   * `unauthorized_client`, `invalid_request`, `invalid_scope`, `invalid_target`, `invalid_binding_message`,
   * `rate_limited`.
   */
  start(request: BackchannelRequest, call: CallContext): Promise<StartedBackchannel>;
  /** The pending requests that a person may approve: those of authenticated clients first, then the first to expire. */
  pendingOf(tenantId: string, userId: string, call: CallContext): Promise<RequestDetails[]>;
}

interface BackchannelDeps {
  readonly store: GrantStore;
  readonly admission: ClientAdmission;
  readonly directory: DirectoryClient;
  readonly directoryService: Pick<Client<typeof DirectoryService>, 'findUser'>;
  readonly channels: ApprovalChannels;
  readonly limiter: Limiter;
  /** Requests of authenticated clients per login hint, whether or not it names a person. */
  readonly hintLimit: LimitRule;
  readonly audit: DeviceAudit;
  readonly secrets: PollSecrets;
  readonly runtime: { readonly random: Random; readonly clock: { now(): number } };
  readonly lifetimeSeconds: number;
  readonly intervalSeconds: number;
  /** Pending requests per person, of authenticated clients and of all others. */
  readonly pendingLimit: number;
  /** Whether public clients are refused. */
  readonly requireConfidential: boolean;
  /** Whether every request must be for `openid` (CIBA Core §7.1). */
  readonly requireOpenid: boolean;
  /** Absent if clients can only poll. */
  readonly encryption: CallbackEncryption | undefined;
}

/** The maximum, whatever an application is configured with. */
const longestLifetimeSeconds = 3600;

export function createBackchannelAuthentications(deps: BackchannelDeps): BackchannelAuthentications {
  const { admission } = deps;
  return {
    start: (request, call) =>
      admission.admit('auth_req_id', request, call, (client) => start(deps, request, client, call)),

    pendingOf: (tenantId, userId, call) => pendingOf(deps, { tenantId, userId }, call),
  };
}

/** Leaves out requests that the person may no longer approve, because their role was removed. */
async function pendingOf(
  { store, directory, runtime }: BackchannelDeps,
  { tenantId, userId }: { readonly tenantId: string; readonly userId: string },
  call: CallContext,
): Promise<RequestDetails[]> {
  const pending = (await store.pendingOf(tenantId, userId)).toSorted(
    (left, right) => Number(right.request.authenticated) - Number(left.request.authenticated),
  );
  const user = pending.length === 0 ? undefined : await directory.user(tenantId, userId, call.onward());
  if (user === undefined || !directory.isActive(user)) return [];
  const views = await Promise.all(
    pending.map(async (grant) => {
      const client = await directory.application(grant.request.clientId, call.onward());
      if (client === undefined || !directory.mayUse(client.application, user)) return undefined;
      return requestDetails(grant, { directory, clock: runtime.clock }, call);
    }),
  );
  return views.filter((view) => view !== undefined);
}

async function start(
  deps: BackchannelDeps,
  request: BackchannelRequest,
  client: AdmittedClient,
  call: CallContext,
): Promise<StartedBackchannel> {
  const { limiter, hintLimit, audit, lifetimeSeconds, runtime, encryption, secrets } = deps;
  const { clientId, tenantId, lifetimes } = client.application;
  const channel = requireChannel(deps, client);
  checkParameters(request, deps.requireOpenid);
  const pinged = isPinged(client, request, encryption !== undefined);
  const intervalSeconds = lifetimes?.pollInterval || deps.intervalSeconds;
  const longest = Math.min(lifetimes?.authorizationRequest || lifetimeSeconds, longestLifetimeSeconds);
  const options = {
    kind: 'auth_req_id',
    lifetimeSeconds: Math.min(request.requestedExpiry || longest, longest),
    intervalSeconds,
    bindingMessage: request.bindingMessage,
  } as const;
  const { secret, grant: polled } = prepareGrant(request, client, options, {
    random: runtime.random,
    secrets,
  });
  const grant =
    pinged && encryption !== undefined ? withPing(polled, { encryption, secret, request }) : polled;
  // By hint, not by user: the limit must not reveal which users exist.
  const hint = digest(`${tenantId}\0${comparable(request.loginHint)}`);
  await count(limiter, separately(hintLimit, client.authenticated), hint, (rule) =>
    audit.limited(client.trail, { kind: 'auth_req_id', clientId, tenantId }, rule),
  );
  await prompt(deps, { request, grant, client, channel, hintReference: reference(hint) }, call);
  return {
    authReqId: secret,
    expiresIn: Math.floor(options.lifetimeSeconds),
    interval: wholeSeconds(intervalSeconds),
  };
}

/** The request with the encrypted values that its ping needs. */
function withPing(
  grant: NewGrant,
  asked: {
    readonly encryption: CallbackEncryption;
    readonly secret: string;
    readonly request: BackchannelRequest;
  },
): NewGrant {
  const { encryption, secret: authReqId, request } = asked;
  const started = { authReqId, notificationToken: request.clientNotificationToken };
  const sealed = encryption.encryptStart(grant.request.requestId, started);
  return { ...grant, request: { ...grant.request, delivery: { mode: 'ping', sealed } } };
}

/** Stores the request for the person, or for no user; the client sees no difference. */
async function prompt(
  { store, directory, directoryService, pendingLimit, audit }: BackchannelDeps,
  asked: {
    readonly request: BackchannelRequest;
    readonly grant: NewGrant;
    readonly client: AdmittedClient;
    readonly channel: ApprovalChannel;
    readonly hintReference: string;
  },
  call: CallContext,
): Promise<void> {
  const { grant, client, channel, hintReference } = asked;
  const { trail } = client;
  const found = await findUser(directoryService, grant.request.tenantId, asked.request.loginHint, call);
  const obstacle = obstacleTo(directory, client, found);
  const user = obstacle === undefined ? found : undefined;
  const kept = await store.startBackchannel(grant, user?.userId, pendingLimit);
  const userId = kept === 'started' ? user?.userId : undefined;
  const { request, lifetimeSeconds: remainingSeconds } = grant;
  await channel.announce?.({ trail, request, userId, remainingSeconds });
  const unprompted = (reason: Unprompted['reason']): void =>
    audit.unprompted(trail, grant.request, { reason, hintReference });
  if (obstacle !== undefined) return unprompted(obstacle);
  if (kept === 'too_many_pending') return unprompted('too_many_pending');
  audit.started(trail, grant.request, user?.userId);
}

/** Why the person named by a hint is not prompted; undefined if they are. */
function obstacleTo(
  directory: BackchannelDeps['directory'],
  { application }: AdmittedClient,
  user: User | undefined,
): Unprompted['reason'] | undefined {
  if (user === undefined) return 'unknown_user';
  if (!directory.isActive(user)) return 'inactive_user';
  return directory.mayUse(application, user) ? undefined : 'role_missing';
}

/** The maximum length of a registered identifier. */
const longestHint = 320;

async function findUser(
  directoryService: BackchannelDeps['directoryService'],
  tenantId: string,
  hint: string,
  call: CallContext,
): Promise<User | undefined> {
  try {
    const identifier = startOf(hint, longestHint + 1);
    const { user } = await directoryService.findUser({ tenantId, identifier }, call.onward());
    return user?.tenantId === tenantId ? user : undefined;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}

/**
 * Coarser than any comparison of user names, e-mail addresses or phone numbers, so that all spellings share one limit.
 */
function comparable(hint: string): string {
  return normalizeStart(hint, 'NFKC', longestHint)
    .toLowerCase()
    .replaceAll(/[\s().\u00ad\u200b-\u200f\u2060\ufeff-]/g, '');
}

/**
 * Throws `unauthorized_client` (CIBA Core §13) if the application has no approval channel, and in the strict profile
 * for public clients (CVE-2026-109082).
 */
function requireChannel(
  { channels, requireConfidential }: Pick<BackchannelDeps, 'channels' | 'requireConfidential'>,
  { application }: AdmittedClient,
): ApprovalChannel {
  if (requireConfidential && application.type !== ApplicationType.CONFIDENTIAL) {
    throw unauthorized('Only a confidential client may use backchannel authentication.');
  }
  const approval = application.ciba?.approval ?? '';
  if (approval === '') throw unauthorized('No approval channel is configured for the application.');
  const channel = channels.get(approval);
  if (channel === undefined) throw unauthorized(`Approval by ${approval} is not available.`);
  return channel;
}

function unauthorized(message: string): OAuthError {
  return new OAuthError('unauthorized_client', message);
}

/** CIBA Core §7.1: short enough to compare at a glance. */
const longestBindingMessage = 64;
/**
 * Characters without a glyph, except the variation selectors of emoji; runs of combining marks hide the text around
 * them.
 */
const unprintable = /[\p{C}\p{Zl}\p{Zp}\u2800[\p{Default_Ignorable_Code_Point}--[\ufe0e\ufe0f]]]|\p{M}{4}/v;

function checkParameters(
  { loginHint, bindingMessage, scope }: BackchannelRequest,
  requireOpenid: boolean,
): void {
  if (loginHint.trim() === '')
    throw new OAuthError('invalid_request', 'The parameter login_hint is missing.');
  if (scope.trim() === '') throw new OAuthError('invalid_request', 'The parameter scope is missing.');
  if ([...bindingMessage].length > longestBindingMessage || unprintable.test(bindingMessage)) {
    const message = `The binding message must be at most ${longestBindingMessage} printable characters.`;
    throw new OAuthError('invalid_binding_message', message);
  }
  if (requireOpenid && !scope.split(' ').includes('openid')) {
    throw new OAuthError('invalid_scope', 'The scope must contain openid.');
  }
}
