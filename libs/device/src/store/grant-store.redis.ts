import { readStored } from '@tessera/rpc';
import { hash as digest } from 'node:crypto';
import type { RedisArgument, RedisHandle } from '@tessera/stores';
import { z } from 'zod';
import * as scripts from './grant-store.scripts.ts';
import { tombstoneSeconds } from './grant-store.ts';
import type { GrantStore, ActiveGrant, NewGrant, Opening } from './grant-store.ts';
import type { GrantKind, GrantRequest } from '../pending-grant.ts';

/** Written by older and newer versions too: fields are only ever added, and unknown ones are ignored. */
const grantRequest = z.object({
  kind: z.enum(['device_code', 'auth_req_id']),
  hash: z.string(),
  requestId: z.string(),
  tenantId: z.string(),
  clientId: z.string(),
  scopes: z.array(z.string()),
  resource: z.string(),
  issuer: z.string(),
  ipAddress: z.string(),
  bindingMessage: z.string(),
  authenticated: z.boolean(),
  delivery: z.object({ mode: z.literal('ping'), sealed: z.string() }).optional(),
});

const grantKey = (kind: GrantKind, hash: string): string => `device:grant:${kind}:${hash}`;
const requestKey = (requestId: string): string => `device:request:${requestId}`;
const userCodeKey = (userCodeHash: string): string => `device:user-code:${userCodeHash}`;
const personKey = (tenantId: string, userId: string): string =>
  `device:person:${digest('sha256', `${tenantId}\0${userId}`)}`;
const failureKey = (name: string, key: string): string => `device:guesses:${name}:${digest('sha256', key)}`;

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/** Pending requests in Redis. Every operation is one script and one round trip. */
export function createRedisGrantStore(redis: RedisHandle): GrantStore {
  const script = (name: string, lua: string) => redis.script({ name: `device.${name}`, lua });
  const startDevice = script('start_device', scripts.startDevice);
  const startBackchannel = script('start_backchannel', scripts.startBackchannel);
  const poll = script('poll', scripts.poll);
  const open = script('open', scripts.open);
  const find = script('find', scripts.find);
  const pendingOf = script('waiting_for', scripts.pendingOf);
  const settle = script('settle', scripts.settle);
  return {
    async startDevice(grant, userCodeHash) {
      const reply = await startDevice([...recordKeys(grant), userCodeKey(userCodeHash)], recordValues(grant));
      return startDeviceReply.parse(reply);
    },
    async startBackchannel(grant, userId, pendingLimit) {
      const { tenantId, requestId } = grant.request;
      // A user who does not exist gets a key like any other, so that both take the same time.
      const person = userId === undefined ? personKey('', requestId) : personKey(tenantId, userId);
      const values = [...recordValues(grant), userId ?? '', pendingLimit];
      return startBackchannelReply.parse(await startBackchannel([...recordKeys(grant), person], values));
    },
    async poll(kind, hash, { clientId, tenantId }) {
      return pollReply.parse(await poll([grantKey(kind, hash)], [clientId, tenantId]));
    },
    async open(userCodeHash, owner, rules): Promise<Opening> {
      const keys = [userCodeKey(userCodeHash), ...rules.map(({ name, key }) => failureKey(name, key))];
      const { tenantId = '', userId = '', sessionId = '' } = owner ?? {};
      const limits = rules.flatMap(({ limit, windowSeconds }) => [limit, milliseconds(windowSeconds)]);
      const reply = openReply.parse(await open(keys, [tenantId, userId, sessionId, ...limits]));
      if (reply[0] === 'found') return { outcome: 'found', grant: activeGrant(reply.slice(1)) };
      if (reply[0] !== 'throttled') return { outcome: reply[0] };
      const rule = rules[reply[1]];
      if (rule === undefined) throw new Error('the script reported an unknown rule');
      return { outcome: 'throttled', rule: rule.name, retryAfterSeconds: Math.ceil(reply[2] / 1000) };
    },
    async find(requestId) {
      const reply = await find([requestKey(requestId)], []);
      return reply === null ? undefined : activeGrant(reply);
    },
    async pendingOf(tenantId, userId) {
      const replies = await pendingOf([personKey(tenantId, userId)], [userId]);
      return pendingReply.parse(replies).map(activeGrant);
    },
    async settle({ kind, hash }, decision) {
      await settle([grantKey(kind, hash)], [decision]);
    },
  };
}

function recordKeys({ request }: NewGrant): string[] {
  return [grantKey(request.kind, request.hash), requestKey(request.requestId)];
}

function recordValues({ request, lifetimeSeconds, pace }: NewGrant): RedisArgument[] {
  return [
    request.clientId,
    request.tenantId,
    JSON.stringify(request satisfies GrantRequest),
    milliseconds(lifetimeSeconds),
    milliseconds(tombstoneSeconds),
    milliseconds(pace.intervalSeconds),
    milliseconds(pace.increaseSeconds),
    request.authenticated ? '' : 'unauthenticated',
  ];
}

const startDeviceReply = z.enum(['started', 'user_code_taken']);
const startBackchannelReply = z.enum(['started', 'too_many_pending']);

const pollReply = z.enum([
  'unknown',
  'other_client',
  'expired',
  'pending',
  'slow_down',
  'denied',
  'approved',
]);

const openReply = z.union([
  z.tuple([z.literal('found'), z.string(), z.string(), z.string(), z.number()]),
  z.tuple([z.literal('throttled'), z.number(), z.number()]),
  z.tuple([z.enum(['unknown', 'other_tenant', 'other_person'])]),
]);

const pendingReply = z.array(z.unknown());
const grantReply = z.tuple([z.string(), z.string(), z.string(), z.number()]);

function activeGrant(reply: unknown): ActiveGrant {
  const [data, userId, sessionId, remainingMs] = grantReply.parse(reply);
  return {
    request: readStored('a request', () => grantRequest.parse(JSON.parse(data))),
    owner: { userId, sessionId },
    remainingSeconds: remainingMs / 1000,
  };
}
