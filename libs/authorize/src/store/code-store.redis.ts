import { UserGrantSchema } from '@tessera/proto-gen/oauth';
import { storedMessage } from '@tessera/rpc';
import type { RedisHandle } from '@tessera/stores';
import { z } from 'zod';
import { longestCodeLifetimeSeconds } from './visit-store.ts';
import type { CodePresentation, CodeStore, Redemption } from './visit-store.ts';
import { endOf, endVisit, milliseconds } from './visit-store.redis.ts';

const storedGrant = storedMessage(UserGrantSchema);

/** What a code stands for. */
const codeData = z.object({ userGrant: z.json() });

const codeKey = (codeHash: string): string => `authorize:code:${codeHash}`;
const sessionKey = (sessionId: string): string => `authorize:session-codes:${sessionId}`;

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
