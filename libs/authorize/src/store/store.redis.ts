import { UserGrantSchema } from '@tessera/proto-gen/oauth';
import { readStored, storedMessage } from '@tessera/rpc';
import type { RedisHandle } from '@tessera/stores';
import { z } from 'zod';
import { digest } from '../browser-call.ts';
import { longestCodeLifetimeSeconds, purposes, tooManyPending } from './store.ts';
import type {
  AnsweredVisit,
  CodePresentation,
  CodeStore,
  EndingVisit,
  VisitStore,
  Visit,
  Redemption,
} from './store.ts';

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

const storedGrant = storedMessage(UserGrantSchema);

/** What a code stands for. */
const codeData = z.object({ userGrant: z.json() });

const visitKey = (idHash: string): string => `authorize:interaction:${idHash}`;
const answeredKey = (idHash: string): string => `authorize:answered:${idHash}`;
/** Followed by the digest of an address. */
const visitsOf = 'authorize:interactions-of:';
const codeKey = (codeHash: string): string => `authorize:code:${codeHash}`;
const sessionKey = (sessionId: string): string => `authorize:session-codes:${sessionId}`;

const milliseconds = (seconds: number): number => Math.round(seconds * 1000);

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

/** Keys: visit, its answer, beginning of the key of an address's visits. */
const endVisit = `
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

function endOf({ idHash, answered, lifetimeSeconds }: EndingVisit) {
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

/**
 * KEYS: code, codes of the session; to end a visit with it, those of `endVisit`. ARGV: client, tenant, challenge,
 * redirect URI, grant, its lifetime and the longest in milliseconds; the answer of the visit, its lifetime.
 */
const save = `${endVisit}
if redis.call('SISMEMBER', KEYS[2], 'ended') == 1 then return 'session_ended' end
if KEYS[3] and endVisit(KEYS[3], KEYS[4], KEYS[5], ARGV[8], ARGV[9]) == 0 then return 'visit_ended' end
redis.call('HSET', KEYS[1], 'client_id', ARGV[1], 'tenant_id', ARGV[2], 'challenge', ARGV[3],
  'redirect_uri', ARGV[4], 'data', ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
return 'saved'`;

/**
 * KEYS: code. ARGV: client, tenant, challenge, redirect URI, whether the client is confidential. The record stays as
 * its own tombstone until it expires.
 */
const redeem = `
local code = redis.call('HMGET', KEYS[1], 'client_id', 'tenant_id', 'challenge', 'redirect_uri', 'burnt', 'taken', 'data')
if not code[7] then return {'unknown'} end
if code[1] ~= ARGV[1] or code[2] ~= ARGV[2] then return {'other_client'} end
local mismatch
if code[3] ~= ARGV[3] then mismatch = 'wrong_verifier'
elseif code[4] ~= ARGV[4] then mismatch = 'wrong_redirect_uri' end
if mismatch then
  redis.call('HSET', KEYS[1], 'burnt', '1')
  if code[6] and ARGV[5] == '1' then return {'granted', code[7], '1', '1'} end
  return {mismatch}
end
if code[5] and not code[6] then return {'burnt'} end
redis.call('HSET', KEYS[1], 'taken', '1')
return {'granted', code[7], code[6] or '0', code[5] or '0'}`;

/** KEYS: code. */
const withdraw = `
if redis.call('HEXISTS', KEYS[1], 'taken') == 1 then return 0 end
return redis.call('DEL', KEYS[1])`;

/** KEYS: codes of the earlier session, codes of the later one. ARGV: lifetime in milliseconds. */
const followSession = `
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])`;

/** KEYS: codes of the session. ARGV: how long new ones are refused, in milliseconds. */
const dropSession = `
local dropped = 0
local sessions = {KEYS[1]}
local at = 1
while sessions[at] do
  for _, member in ipairs(redis.call('SMEMBERS', sessions[at])) do
    if string.find(member, 'authorize:session-codes:', 1, true) then sessions[#sessions + 1] = member
    elseif member ~= 'ended' then
      if redis.call('HGET', member, 'taken') then
        redis.call('HSET', member, 'burnt', '1')
        dropped = dropped + 1
      else dropped = dropped + redis.call('DEL', member) end
    end
  end
  redis.call('DEL', sessions[at])
  redis.call('SADD', sessions[at], 'ended')
  redis.call('PEXPIRE', sessions[at], ARGV[1])
  at = at + 1
end
return dropped`;

/** Codes in Redis, every operation one script and one round trip. */
export function createRedisCodeStore(redis: RedisHandle): CodeStore {
  const saveScript = redis.script({ name: 'authorize.save_code', lua: save });
  const redeemScript = redis.script({ name: 'authorize.redeem_code', lua: redeem });
  const withdrawScript = redis.script({ name: 'authorize.withdraw_code', lua: withdraw });
  const followScript = redis.script({ name: 'authorize.follow_session', lua: followSession });
  const dropScript = redis.script({ name: 'authorize.drop_session', lua: dropSession });
  return {
    async save(codeHash, { grant, codeChallenge, redirectUri }, lifetimeSeconds, ending) {
      const ended = ending && endOf(ending);
      const keys = [codeKey(codeHash), sessionKey(grant.sessionId), ...(ended?.keys ?? [])];
      const data = JSON.stringify({ userGrant: storedGrant.encode(grant) });
      const values = [
        grant.clientId,
        grant.tenantId,
        codeChallenge,
        redirectUri,
        data,
        milliseconds(lifetimeSeconds),
        milliseconds(longestCodeLifetimeSeconds),
        ...(ended?.values ?? []),
      ];
      return saveReply.parse(await saveScript(keys, values));
    },
    async redeem(codeHash, presentation: CodePresentation) {
      const { clientId, tenantId, codeChallenge, redirectUri, confidential } = presentation;
      const values = [clientId, tenantId, codeChallenge, redirectUri, confidential ? '1' : '0'];
      return redemptionOf(await redeemScript([codeKey(codeHash)], values));
    },
    async withdraw(codeHash) {
      return Number(await withdrawScript([codeKey(codeHash)], [])) === 1;
    },
    async followSession(earlier, later, lifetimeSeconds) {
      await followScript([sessionKey(earlier), sessionKey(later)], [milliseconds(lifetimeSeconds)]);
    },
    async dropSession(sessionId, lifetimeSeconds) {
      return Number(await dropScript([sessionKey(sessionId)], [milliseconds(lifetimeSeconds)]));
    },
  };
}

const saveReply = z.enum(['saved', 'session_ended', 'visit_ended']);

const redeemReply = z.union([
  z.tuple([z.literal('granted'), z.string(), z.enum(['0', '1']), z.enum(['0', '1'])]),
  z.tuple([z.enum(['unknown', 'other_client', 'burnt', 'wrong_verifier', 'wrong_redirect_uri'])]),
]);

function redemptionOf(reply: unknown): Redemption {
  const parsed = redeemReply.parse(reply);
  if (parsed[0] !== 'granted') return { outcome: parsed[0] };
  const [outcome, grant, taken, burnt] = parsed;
  return {
    outcome,
    grant: storedGrant.decode(codeData.parse(JSON.parse(grant)).userGrant),
    takenBefore: taken === '1',
    burnt: burnt === '1',
  };
}
