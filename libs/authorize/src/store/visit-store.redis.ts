import { readStored } from '@tessera/rpc';
import type { RedisHandle } from '@tessera/stores';
import { z } from 'zod';
import { digest } from '../browser-call.ts';
import { purposes, tooManyPending } from './visit-store.ts';
import type { AnsweredVisit, EndingVisit, Visit, VisitStore } from './visit-store.ts';

/** Those that every process knows. */
const firstPurposes = ['code', 'device', 'approvals', 'password'] as const;

const departureFields = z.object({
  provider: z.string(),
  issuer: z.string(),
  ticketHash: z.string(),
  leftAt: z.number(),
  resume: z.string(),
});

const upstreamFields = z.object({
  provider: z.string(),
  issuer: z.string(),
  subject: z.string(),
  sid: z.string().optional(),
  hint: z.string().optional(),
});

/** Older and newer processes write these too: fields are only ever added, and unknown ones are dropped. */
const visitFields = z.object({
  purpose: z.enum(firstPurposes),
  /** The purpose, if it is another page of ours than those; unknown ones are of a newer process. */
  page: z.enum(purposes).optional().catch(undefined),
  browserHash: z.string(),
  tenantId: z.string(),
  issuer: z.string(),
  parameters: z.record(z.string(), z.string()),
  hintedUserId: z.string(),
  seed: z.string(),
  totpStep: z.number().optional(),
  makesPasskeys: z.boolean().optional(),
  departure: departureFields.optional(),
  /** The departure, if it is no sign-in: earlier processes, which do not know it, must not take its answer for one. */
  linkDeparture: departureFields.extend({ linkSessionId: z.string() }).optional(),
  person: z
    .object({
      userId: z.string(),
      signedInAt: z.number().optional(),
      methods: z.array(z.string()),
      sessionId: z.string().optional(),
      upstream: upstreamFields.optional(),
    })
    .optional(),
  sent: z.record(z.string(), z.string()).optional(),
  done: z.array(z.string()),
});

const storedVisit = visitFields.transform(({ page, linkDeparture, ...visit }) => ({
  ...visit,
  purpose: page ?? visit.purpose,
  departure: linkDeparture ?? visit.departure,
}));

/**
 * A visit as it is stored: earlier processes take the pages that they do not know for another one, and sign people in
 * there.
 */
function toStored(visit: Visit) {
  const { departure, ...rest } = visit;
  const { purpose } = visit;
  const known = firstPurposes.find((first) => first === purpose);
  const page = known === undefined ? { purpose: 'approvals', page: purpose } : {};
  const left = departure?.linkSessionId === undefined ? { departure } : { linkDeparture: departure };
  return { ...rest, ...page, ...left };
}

const storedAnswer = z.object({
  request: storedVisit,
  codeHash: z.string(),
  sessionId: z.string(),
  userId: z.string(),
});

const visitKey = (idHash: string): string => `authorize:interaction:${idHash}`;
const answeredKey = (idHash: string): string => `authorize:answered:${idHash}`;
/** Followed by the digest of an address. */
const visitsOf = 'authorize:interactions-of:';

/** In whole milliseconds, as Redis counts lifetimes. */
export const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

/**
 * KEYS: visit, open visits of its address by the end of their lifetime. ARGV: record, lifetime in milliseconds, quota.
 * Returns 0, or the milliseconds until the address has a place again.
 */
const saveVisit = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[3]) then
  return math.max(1, redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2] - now)
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('ZADD', KEYS[2], now + ARGV[2], KEYS[1])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[2], ARGV[2]) end
return 0`;

/** KEYS: visit. ARGV: record without the address, which the stored visit names. Returns 1, or 0 if there is none. */
const updateVisit = `
local text = redis.call('GET', KEYS[1])
if not text then return 0 end
local record = string.sub(ARGV[1], 1, -2) .. ',"origin":"' .. cjson.decode(text).origin .. '"}'
redis.call('SET', KEYS[1], record, 'KEEPTTL')
return 1`;

/** A function of Lua, `endVisit`. Keys: visit, its answer, beginning of the key of an address's visits. */
export const endVisit = `
local function endVisit(visit, answered, visitsOf, answer, lifetime)
  local text = redis.call('GET', visit)
  if not text then return 0 end
  redis.call('ZREM', visitsOf .. cjson.decode(text).origin, visit)
  redis.call('SET', answered, answer, 'PX', lifetime)
  return redis.call('DEL', visit)
end`;

/** KEYS: those of `endVisit`. ARGV: answer, its lifetime in milliseconds. */
const answerVisit = `${endVisit}
return endVisit(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[2])`;

function read<T>(what: string, form: z.ZodType<T>, text: unknown): T | undefined {
  return typeof text === 'string' ? readStored(what, () => form.parse(JSON.parse(text))) : undefined;
}

function answerText({ request, ...answer }: AnsweredVisit): string {
  return JSON.stringify({ request: toStored(request), ...answer });
}

/** Keys and values of a script that ends a visit by `endVisit`. */
export function endOf({ idHash, answered, lifetimeSeconds }: EndingVisit) {
  return {
    keys: [visitKey(idHash), answeredKey(idHash), visitsOf],
    values: [answerText(answered), milliseconds(lifetimeSeconds)],
  };
}

/** Visits in Redis, up to `quota` of one address. */
export function createRedisVisitStore(redis: RedisHandle, quota: number): VisitStore {
  const saveScript = redis.script({ name: 'authorize.save_visit', lua: saveVisit });
  const updateScript = redis.script({ name: 'authorize.update_visit', lua: updateVisit });
  const answerScript = redis.script({ name: 'authorize.answer_visit', lua: answerVisit });
  return {
    async save(idHash, visit, lifetimeSeconds, address) {
      const origin = digest(address).slice(0, 22);
      const record = JSON.stringify({ ...toStored(visit), origin });
      const lifetime = milliseconds(lifetimeSeconds);
      const keys = [visitKey(idHash), `${visitsOf}${origin}`];
      const left = Number(await saveScript(keys, [record, lifetime, quota]));
      if (left > 0) throw tooManyPending(Math.ceil(left / 1000));
    },
    async find(idHash): Promise<Visit | undefined> {
      const text = await redis.call('GET', visitKey(idHash));
      return read('a visit', storedVisit, text);
    },
    async update(idHash, visit) {
      return Number(await updateScript([visitKey(idHash)], [JSON.stringify(toStored(visit))])) === 1;
    },
    async answer(idHash, answered, lifetimeSeconds) {
      const { keys, values } = endOf({ idHash, answered, lifetimeSeconds });
      return Number(await answerScript(keys, values)) === 1;
    },
    async findAnswered(idHash): Promise<AnsweredVisit | undefined> {
      const text = await redis.call('GET', answeredKey(idHash));
      return read('an answered visit', storedAnswer, text);
    },
    async answerAgain(idHash, answered, lifetimeSeconds) {
      const lifetime = String(milliseconds(lifetimeSeconds));
      await redis.call('SET', answeredKey(idHash), answerText(answered), 'XX', 'PX', lifetime);
    },
  };
}
