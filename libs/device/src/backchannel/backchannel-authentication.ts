import type { DirectoryClient } from '@tessera/directory-client';
import { Code, ConnectError } from '@tessera/rpc';
import type { CallContext, Client } from '@tessera/rpc';
import type { Random } from '@tessera/kit';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
import { ApplicationType, type DirectoryService, type User } from '@tessera/proto-gen/directory';
import type { ApprovalExperiences, Experience } from '../approval/experience.ts';
import type { DeviceAudit, Unprompted } from '../audit.ts';
import type { CallbackSeal } from '../delivery/callback.ts';
import { requestedMode } from './delivery-mode.ts';
import type { DeliveryMode } from '../delivery/store.ts';
import { digest, reference } from '../digest.ts';
import { count } from '../limits.ts';
import { prepareGrant, wholeSeconds } from '../start/grant-request.ts';
import { describeGrant, type PendingRequestView } from '../approval/request-details.ts';
import type { PollSecrets } from '../polling/poll-secret.ts';
import type { StartingClient, StartingClients, StartRequest } from '../start/client-admission.ts';
import type { GrantStore, NewGrant } from '../store/store.ts';

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
  /** 0 where the client may not poll (CIBA Core §7.3). */
  readonly interval: number;
}

export interface BackchannelAuthentications {
  /**
   * CIBA Core §7.1 to §7.3. A person who does not exist, is not active, may not use the application or has too much
   * waiting is answered for like anybody else, and nobody is prompted. Throws `invalid_client`, `unauthorized_client`, `invalid_request`,
   * `invalid_scope`, `invalid_target`, `invalid_binding_message`, `rate_limited`.
   */
  start(request: BackchannelRequest, call: CallContext): Promise<StartedBackchannel>;
  /** What waits for a person who may approve it, those requests that end first in front. */
  waitingFor(tenantId: string, userId: string, call: CallContext): Promise<PendingRequestView[]>;
}

interface BackchannelParts {
  readonly store: GrantStore;
  readonly clients: StartingClients;
  readonly records: DirectoryClient;
  readonly directory: Pick<Client<typeof DirectoryService>, 'findUser'>;
  readonly experiences: ApprovalExperiences;
  readonly limiter: Limiter;
  /** Requests for one login hint, whoever it stands for. */
  readonly hintLimit: LimitRule;
  readonly audit: DeviceAudit;
  readonly secrets: PollSecrets;
  readonly kit: { readonly random: Random; readonly clock: { now(): number } };
  readonly lifetimeSeconds: number;
  readonly intervalSeconds: number;
  /** Requests that may wait for one person. */
  readonly pendingLimit: number;
  /** Whether public clients are refused. */
  readonly requireConfidential: boolean;
  /** Absent: clients get their tokens by poll alone. */
  readonly seal: CallbackSeal | undefined;
}

/** Whatever an application asks for, nobody is kept waiting for an answer for longer. */
const longestLifetimeSeconds = 3600;

export function createBackchannelAuthentications(parts: BackchannelParts): BackchannelAuthentications {
  const { clients } = parts;
  return {
    start: (request, call) =>
      clients.admit('auth_req_id', request, call, (client) => start(parts, request, client, call)),

    waitingFor: (tenantId, userId, call) => waitingFor(parts, { tenantId, userId }, call),
  };
}

/** Who lost a role since is not asked: their approval would be a denial. */
async function waitingFor(
  { store, records, kit }: BackchannelParts,
  { tenantId, userId }: { readonly tenantId: string; readonly userId: string },
  call: CallContext,
): Promise<PendingRequestView[]> {
  const waiting = await store.waitingFor(tenantId, userId);
  const user = waiting.length === 0 ? undefined : await records.user(tenantId, userId, call.onward());
  if (user === undefined || !records.isActive(user)) return [];
  const views = await Promise.all(
    waiting.map(async (grant) => {
      const client = await records.application(grant.request.clientId, call.onward());
      if (client === undefined || !records.mayUse(client.application, user)) return undefined;
      return describeGrant(grant, { records, clock: kit.clock }, call);
    }),
  );
  return views.filter((view) => view !== undefined);
}

async function start(
  parts: BackchannelParts,
  request: BackchannelRequest,
  client: StartingClient,
  call: CallContext,
): Promise<StartedBackchannel> {
  const { limiter, hintLimit, audit, lifetimeSeconds, kit, seal, secrets } = parts;
  const { clientId, tenantId, lifetimes } = client.application;
  const experience = requireExperience(parts, client);
  checkParameters(request);
  const mode = requestedMode(client, request, seal !== undefined);
  const intervalSeconds = lifetimes?.pollInterval || parts.intervalSeconds;
  const longest = Math.min(lifetimes?.authorizationRequest || lifetimeSeconds, longestLifetimeSeconds);
  const options = {
    kind: 'auth_req_id',
    lifetimeSeconds: Math.min(request.requestedExpiry || longest, longest),
    intervalSeconds,
    bindingMessage: request.bindingMessage,
  } as const;
  const { secret, grant: polled } = prepareGrant(request, client, options, { random: kit.random, secrets });
  const grant =
    mode === undefined || seal === undefined ? polled : told(polled, { mode, seal, secret, request });
  // By the hint, not by the user it stands for: reaching the limit tells nothing about who exists.
  const hint = digest(`${tenantId}\0${comparable(request.loginHint)}`);
  await count(limiter, hintLimit, hint, (rule) =>
    audit.limited(client.trail, { kind: 'auth_req_id', clientId, tenantId }, rule),
  );
  await prompt(parts, { request, grant, client, experience, hintReference: reference(hint) }, call);
  return {
    authReqId: secret,
    expiresIn: Math.floor(options.lifetimeSeconds),
    interval: mode === 'push' ? 0 : wholeSeconds(intervalSeconds),
  };
}

/** The request with what it takes to tell its client of the decision, which nobody but us can read. */
function told(
  grant: NewGrant,
  asked: {
    readonly mode: DeliveryMode;
    readonly seal: CallbackSeal;
    readonly secret: string;
    readonly request: BackchannelRequest;
  },
): NewGrant {
  const { mode, seal, secret: authReqId, request } = asked;
  const started = { authReqId, notificationToken: request.clientNotificationToken };
  const sealed = seal.sealStart(grant.request.requestId, started);
  return { ...grant, request: { ...grant.request, delivery: { mode, sealed } } };
}

/** Keeps the request for the person, or for nobody; the client sees no difference. */
async function prompt(
  { store, records, directory, pendingLimit, audit }: BackchannelParts,
  asked: {
    readonly request: BackchannelRequest;
    readonly grant: NewGrant;
    readonly client: StartingClient;
    readonly experience: Experience;
    readonly hintReference: string;
  },
  call: CallContext,
): Promise<void> {
  const { grant, client, experience, hintReference } = asked;
  const { trail } = client;
  const found = await findUser(directory, grant.request.tenantId, asked.request.loginHint, call);
  const obstacle = obstacleTo(records, client, found);
  const user = obstacle === undefined ? found : undefined;
  const kept = await store.startBackchannel(grant, user?.userId, pendingLimit);
  const userId = kept === 'started' ? user?.userId : undefined;
  const { request, lifetimeSeconds: remainingSeconds } = grant;
  await experience.announce?.({ trail, request, userId, remainingSeconds });
  const unprompted = (reason: Unprompted['reason']): void =>
    audit.unprompted(trail, grant.request, { reason, hintReference });
  if (obstacle !== undefined) return unprompted(obstacle);
  if (kept === 'too_many_pending') return unprompted('too_many_pending');
  audit.started(trail, grant.request, user?.userId);
}

/** Why nobody is prompted for the person a hint stands for; undefined when they are. */
function obstacleTo(
  records: BackchannelParts['records'],
  { application }: StartingClient,
  user: User | undefined,
): Unprompted['reason'] | undefined {
  if (user === undefined) return 'unknown_user';
  if (!records.isActive(user)) return 'inactive_user';
  return records.mayUse(application, user) ? undefined : 'role_missing';
}

/** Longer than any identifier that can be registered. */
const longestHint = 320;

async function findUser(
  directory: BackchannelParts['directory'],
  tenantId: string,
  hint: string,
  call: CallContext,
): Promise<User | undefined> {
  try {
    const identifier = hint.slice(0, longestHint + 1);
    const { user } = await directory.findUser({ tenantId, identifier }, call.onward());
    return user?.tenantId === tenantId ? user : undefined;
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}

/** Coarser than any comparison of user names, addresses or phone numbers, so that no other spelling is a hint of its own. */
function comparable(hint: string): string {
  return hint
    .slice(0, longestHint)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s().\u00ad\u200b-\u200f\u2060\ufeff-]/g, '');
}

/**
 * CIBA Core §13, `unauthorized_client`: only where somebody is asked. In the strict profile confidential clients alone
 * (CVE-2026-109082); in the contract's the identifier of any client suffices.
 */
function requireExperience(
  { experiences, requireConfidential }: Pick<BackchannelParts, 'experiences' | 'requireConfidential'>,
  { application }: StartingClient,
): Experience {
  if (requireConfidential && application.type !== ApplicationType.CONFIDENTIAL) {
    throw unauthorized('Only a confidential client may use backchannel authentication.');
  }
  const approval = application.ciba?.approval ?? '';
  if (approval === '') throw unauthorized('No approval experience is configured for the application.');
  const experience = experiences.get(approval);
  if (experience === undefined) throw unauthorized(`Approval by ${approval} is not available.`);
  return experience;
}

function unauthorized(message: string): OAuthError {
  return new OAuthError('unauthorized_client', message);
}

/** CIBA Core §7.1: characters a person reads and compares at a glance. */
const longestBindingMessage = 64;
const unprintable = /[\p{C}\p{Zl}\p{Zp}]/u;

function checkParameters({ loginHint, bindingMessage, scope }: BackchannelRequest): void {
  if (loginHint.trim() === '')
    throw new OAuthError('invalid_request', 'The parameter login_hint is missing.');
  if (scope.trim() === '') throw new OAuthError('invalid_request', 'The parameter scope is missing.');
  if ([...bindingMessage].length > longestBindingMessage || unprintable.test(bindingMessage)) {
    const message = `The binding message must be at most ${longestBindingMessage} printable characters.`;
    throw new OAuthError('invalid_binding_message', message);
  }
  if (!scope.split(' ').includes('openid')) {
    throw new OAuthError('invalid_scope', 'The scope must contain openid.');
  }
}
