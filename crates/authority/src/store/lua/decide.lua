-- Decides one check: `hits` equal requests against every limit at once. All limits are charged, or none.
--
-- KEYS     one counter for each charge, all with the same hash tag
-- ARGV[1]  hits
-- ARGV[…]  for each key, in their order, either of
--            'fw' cost limit window_ms                 fixed window
--            'tb' cost capacity_mt refill_mt per_ms    token bucket; _mt are thousandths of a token,
--                                                      refill_mt / per_ms is a reduced fraction
-- Returns  {admitted, remaining_1, reset_ms_1, wait_ms_1, remaining_2, …}
--            admitted   how many of the hits pass
--            remaining  whole units left after that
--            reset_ms   until the whole capacity is there again
--            wait_ms    until there is room for one more hit; 0 when there is now
--
-- Values   'fw <start_ms> <spent>'    'tb <spent_mt> <remainder> <updated_ms>'
-- Anything else, of another algorithm or another type, counts as nothing spent. Every write carries its
-- TTL, so no key can outlive its meaning. A denial writes nothing.
--
-- The time is the store's. The arithmetic is that of the crate weir-limit, in doubles that hold integers:
-- the authority refuses numbers whose products would go beyond 2^53. (a - a % b) / b is the whole quotient.
--
-- Redis runs nothing else meanwhile, so this is written for few calls and few tables.

local MAX_EXACT = 9007199254740992
local TTL_SLACK_MS = 1000

local match, format = string.match, string.format

-- Milliseconds until amount_mt have come back, of which remainder / per_ms already has; rounded up.
local function drain_ms(amount_mt, remainder, refill_mt, per_ms)
  local missing = amount_mt * per_ms - remainder
  if missing <= 0 then
    return 0
  end
  missing = missing + refill_mt - 1
  return (missing - missing % refill_mt) / refill_mt
end

-- What was spent in the window that began at start_ms.
local function window_spent(value, start_ms)
  local start, spent = match(value, '^fw (%d+) (%d+)$')
  if start and start + 0 == start_ms and spent + 0 <= MAX_EXACT then
    return spent + 0
  end
  return 0
end

-- What was spent and has not come back, and the remainder.
local function bucket_spent(value, now_ms, refill_mt, per_ms)
  local spent_mt, remainder, updated_ms = match(value, '^tb (%d+) (%d+) (%d+)$')
  if not spent_mt then
    return 0, 0
  end
  spent_mt, remainder, updated_ms = spent_mt + 0, remainder + 0, updated_ms + 0
  if spent_mt > MAX_EXACT or remainder > MAX_EXACT or updated_ms > now_ms + TTL_SLACK_MS then
    return 0, 0
  end
  local half = MAX_EXACT / 2
  spent_mt = math.min(spent_mt, (half - half % per_ms) / per_ms)
  remainder = math.min(remainder, per_ms - 1)
  local elapsed_ms = math.max(now_ms - updated_ms, 0)
  if elapsed_ms >= drain_ms(spent_mt, remainder, refill_mt, per_ms) then
    return 0, 0
  end
  local refilled = elapsed_ms * refill_mt + remainder
  remainder = refilled % per_ms
  return math.max(spent_mt - (refilled - remainder) / per_ms, 0), remainder
end

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000
local stored = redis.call('MGET', unpack(KEYS))

-- First what is spent under each limit, and how many of the hits all of them have room for.
local admitted = ARGV[1] + 0
local spent, remainders = {}, {}
local arg = 2
for i = 1, #KEYS do
  local cost, room = ARGV[arg + 1] + 0, 0
  spent[i], remainders[i] = 0, 0
  if ARGV[arg] == 'fw' then
    local limit, window_ms = ARGV[arg + 2] + 0, ARGV[arg + 3] + 0
    if stored[i] then
      spent[i] = window_spent(stored[i], now_ms - now_ms % window_ms)
    end
    room = limit - spent[i]
    arg = arg + 4
  else
    local capacity_mt, refill_mt, per_ms = ARGV[arg + 2] + 0, ARGV[arg + 3] + 0, ARGV[arg + 4] + 0
    if stored[i] then
      spent[i], remainders[i] = bucket_spent(stored[i], now_ms, refill_mt, per_ms)
    end
    room = capacity_mt - spent[i]
    room = (room - room % 1000) / 1000
    arg = arg + 5
  end
  if room < cost * admitted then
    admitted = room > 0 and (room - room % cost) / cost or 0
  end
end

-- Then what that leaves, and if anything was admitted, its record.
local answer = { admitted }
arg = 2
for i = 1, #KEYS do
  local cost = ARGV[arg + 1] + 0
  local remaining, reset_ms, wait_ms = 0, 0, 0
  local value
  if ARGV[arg] == 'fw' then
    local limit, window_ms = ARGV[arg + 2] + 0, ARGV[arg + 3] + 0
    local start_ms = now_ms - now_ms % window_ms
    local after = spent[i] + cost * admitted
    if after < limit then
      remaining = limit - after
    end
    if after > 0 then
      reset_ms = start_ms + window_ms - now_ms
    end
    if cost > remaining then
      wait_ms = start_ms + window_ms - now_ms
    end
    value = admitted > 0 and format('fw %.0f %.0f', start_ms, after)
    arg = arg + 4
  else
    local capacity_mt, refill_mt, per_ms = ARGV[arg + 2] + 0, ARGV[arg + 3] + 0, ARGV[arg + 4] + 0
    local after = spent[i] + cost * admitted * 1000
    if after < capacity_mt then
      remaining = (capacity_mt - after - (capacity_mt - after) % 1000) / 1000
    end
    reset_ms = drain_ms(after, remainders[i], refill_mt, per_ms)
    wait_ms = drain_ms(after + cost * 1000 - capacity_mt, remainders[i], refill_mt, per_ms)
    value = admitted > 0 and format('tb %.0f %.0f %.0f', after, remainders[i], now_ms)
    arg = arg + 5
  end
  answer[3 * i - 1], answer[3 * i], answer[3 * i + 1] = remaining, reset_ms, wait_ms
  if value then
    redis.call('SET', KEYS[i], value, 'PX', format('%.0f', reset_ms + TTL_SLACK_MS))
  end
end
return answer
