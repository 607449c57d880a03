/**
 * The Lua of the store on Redis. A record is a hash; references to it (user code, request id, person) hold its full
 * key. Times are Redis's own, in milliseconds.
 */

const clock = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
`;

/**
 * ARGV 1..8: client, tenant, data, lifetime, how long it is kept after its end, interval, increase, start (empty: the
 * client authenticated). KEYS 1..3: record, request id, and the reference that finds it: a user code or a person.
 */
const write = `
local function write(user)
  redis.call('HSET', KEYS[1], 'client_id', ARGV[1], 'tenant_id', ARGV[2], 'data', ARGV[3], 'state', 'pending',
    'expires_at', now + tonumber(ARGV[4]), 'interval', ARGV[6], 'initial_interval', ARGV[6], 'increase', ARGV[7],
    'user_id', user, 'session_id', '', 'found_by', KEYS[3], 'start', ARGV[8])
  redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[4]) + tonumber(ARGV[5]))
  redis.call('SET', KEYS[2], KEYS[1], 'PX', ARGV[4])
end
`;

export const startDevice = `${clock}${write}
if redis.call('EXISTS', KEYS[3]) == 1 then return 'user_code_taken' end
write('')
redis.call('SET', KEYS[3], KEYS[1], 'PX', ARGV[4])
return 'started'`;

/** ARGV 9, 10: user (empty: none), pending requests of the same kind of start allowed per person. */
export const startBackchannel = `${clock}${write}
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
local pending = 0
for _, record in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
  if (redis.call('HGET', record, 'start') or '') == ARGV[8] then pending = pending + 1 end
end
if pending >= tonumber(ARGV[10]) then
  write('')
  return 'too_many_pending'
end
write(ARGV[9])
redis.call('ZADD', KEYS[3], now + tonumber(ARGV[4]), KEYS[1])
if redis.call('PTTL', KEYS[3]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[3], ARGV[4]) end
return 'started'`;

/**
 * KEYS: record. ARGV: client, tenant. A tenth of the interval is tolerance for the network and the client's timer. The
 * next interval is at most the interval that the client kept this time plus the increase: it cannot know of more.
 */
export const poll = `
local grant = redis.call('HMGET', KEYS[1],
  'client_id', 'tenant_id', 'state', 'expires_at', 'last_poll', 'interval', 'initial_interval', 'increase')
if not grant[1] then return 'unknown' end
if grant[1] ~= ARGV[1] or grant[2] ~= ARGV[2] then return 'other_client' end
${clock}
if now >= tonumber(grant[4]) then return 'expired' end
if grant[3] ~= 'pending' then return grant[3] end
if not grant[5] then
  redis.call('HSET', KEYS[1], 'last_poll', now)
  return 'pending'
end
local gap = now - tonumber(grant[5])
local interval = tonumber(grant[6])
if gap * 10 >= interval * 9 then
  redis.call('HSET', KEYS[1], 'last_poll', now)
  return 'pending'
end
local increase = tonumber(grant[8])
local next_interval = math.min(interval + increase, math.max(gap, tonumber(grant[7])) + increase)
redis.call('HSET', KEYS[1], 'last_poll', now, 'interval', next_interval)
return 'slow_down'`;

/** KEYS: user code, then one counter per rule. ARGV: tenant, user, session, then limit and window of each rule. */
export const open = `${clock}
for i = 2, #KEYS do
  local count = tonumber(redis.call('GET', KEYS[i]) or '0')
  if count >= tonumber(ARGV[i * 2]) then
    return {'throttled', i - 2, math.max(redis.call('PTTL', KEYS[i]), 1)}
  end
end
local function wrong(what)
  for i = 2, #KEYS do
    if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[i * 2 + 1]) end
  end
  return {what}
end
local record = redis.call('GET', KEYS[1])
if not record then return wrong('unknown') end
local grant = redis.call('HMGET', record, 'state', 'expires_at', 'tenant_id', 'user_id', 'session_id', 'data')
if grant[1] ~= 'pending' or now >= tonumber(grant[2]) then return wrong('unknown') end
local remaining = tonumber(grant[2]) - now
if ARGV[2] == '' then return {'found', grant[6], grant[4], grant[5], remaining} end
if grant[3] ~= ARGV[1] then return wrong('other_tenant') end
if grant[4] ~= '' and grant[4] ~= ARGV[2] then return wrong('other_person') end
redis.call('HSET', record, 'user_id', ARGV[2], 'session_id', ARGV[3])
return {'found', grant[6], ARGV[2], ARGV[3], remaining}`;

/** KEYS: request id. */
export const find = `${clock}
local record = redis.call('GET', KEYS[1])
if not record then return false end
local grant = redis.call('HMGET', record, 'expires_at', 'data', 'user_id', 'session_id')
if not grant[1] or now >= tonumber(grant[1]) then return false end
return {grant[2], grant[3], grant[4], tonumber(grant[1]) - now}`;

/** KEYS: person. ARGV: user. */
export const pendingOf = `${clock}
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
local waiting = {}
for _, record in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  local grant = redis.call('HMGET', record, 'state', 'user_id', 'data', 'session_id', 'expires_at')
  if grant[1] == 'pending' and grant[2] == ARGV[1] and now < tonumber(grant[5]) then
    table.insert(waiting, {grant[3], grant[2], grant[4], tonumber(grant[5]) - now})
  end
end
return waiting`;

/** KEYS: record. ARGV: decision. An expired record is not recreated. */
export const settle = `
local found_by = redis.call('HGET', KEYS[1], 'found_by')
if not found_by then return 0 end
redis.call('HSET', KEYS[1], 'state', ARGV[1])
if redis.call('TYPE', found_by).ok == 'zset' then redis.call('ZREM', found_by, KEYS[1])
else redis.call('DEL', found_by) end
return 1`;
