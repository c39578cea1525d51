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
-- the authority refuses numbers whose products would go beyond 2^53.

local MAX_EXACT = 9007199254740992
local TTL_SLACK_MS = 1000

local floor, max, min = math.floor, math.max, math.min

local function numbers(value, pattern)
  local a, b, c = string.match(value, pattern)
  a, b, c = tonumber(a or ''), tonumber(b or ''), tonumber(c or '0')
  if a and b and a <= MAX_EXACT and b <= MAX_EXACT and c <= MAX_EXACT then
    return a, b, c
  end
end

-- Milliseconds until amount_mt have come back, of which remainder / per_ms already has; rounded up.
local function drain_ms(bucket, amount_mt)
  local missing = max(amount_mt * bucket.per_ms - bucket.remainder, 0)
  return floor((missing + bucket.refill_mt - 1) / bucket.refill_mt)
end

local time = redis.call('TIME')
local now_ms = tonumber(time[1]) * 1000 + floor(tonumber(time[2]) / 1000)

local function window_at(value, cost, limit, window_ms)
  local start_ms = now_ms - now_ms % window_ms
  local start, spent = numbers(value, '^fw (%d+) (%d+)$')
  if start ~= start_ms then
    spent = 0
  end
  return {
    cost = cost, limit = limit, ends_ms = start_ms + window_ms, start_ms = start_ms, spent = spent,
    remaining = max(limit - spent, 0),
  }
end

local function bucket_at(value, cost, capacity_mt, refill_mt, per_ms)
  local bucket = { cost = cost, capacity_mt = capacity_mt, refill_mt = refill_mt, per_ms = per_ms, spent_mt = 0, remainder = 0 }
  local spent_mt, remainder, updated_ms = numbers(value, '^tb (%d+) (%d+) (%d+)$')
  if spent_mt and updated_ms <= now_ms + TTL_SLACK_MS then
    spent_mt = min(spent_mt, floor(MAX_EXACT / 2 / per_ms))
    bucket.remainder = min(remainder, per_ms - 1)
    local elapsed_ms = max(now_ms - updated_ms, 0)
    if elapsed_ms < drain_ms(bucket, spent_mt) then
      local refilled = elapsed_ms * refill_mt + bucket.remainder
      bucket.spent_mt = max(spent_mt - floor(refilled / per_ms), 0)
      bucket.remainder = refilled % per_ms
    else
      bucket.remainder = 0
    end
  end
  bucket.remaining = floor(max(capacity_mt - bucket.spent_mt, 0) / 1000)
  return bucket
end

local stored = redis.call('MGET', unpack(KEYS))
local admitted = tonumber(ARGV[1])
local charges = {}
local arg = 2
for i = 1, #KEYS do
  local value = stored[i] or ''
  local cost, a, b = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2]), tonumber(ARGV[arg + 3])
  local charge
  if ARGV[arg] == 'fw' then
    charge = window_at(value, cost, a, b)
    arg = arg + 4
  else
    charge = bucket_at(value, cost, a, b, tonumber(ARGV[arg + 4]))
    arg = arg + 5
  end
  charges[i] = charge
  admitted = min(admitted, floor(charge.remaining / cost))
end

local answer = { admitted }
for i = 1, #KEYS do
  local charge = charges[i]
  local units = charge.cost * admitted
  local wait_ms, reset_ms = 0, 0
  if charge.limit then
    charge.spent = charge.spent + units
    charge.remaining = max(charge.limit - charge.spent, 0)
    if charge.cost > charge.remaining then
      wait_ms = charge.ends_ms - now_ms
    end
    if charge.spent > 0 then
      reset_ms = charge.ends_ms - now_ms
    end
  else
    charge.spent_mt = charge.spent_mt + units * 1000
    charge.remaining = floor(max(charge.capacity_mt - charge.spent_mt, 0) / 1000)
    wait_ms = drain_ms(charge, max(charge.spent_mt + charge.cost * 1000 - charge.capacity_mt, 0))
    reset_ms = drain_ms(charge, charge.spent_mt)
  end
  answer[3 * i - 1], answer[3 * i], answer[3 * i + 1] = charge.remaining, reset_ms, wait_ms
  if admitted > 0 then
    local value
    if charge.limit then
      value = string.format('fw %.0f %.0f', charge.start_ms, charge.spent)
    else
      value = string.format('tb %.0f %.0f %.0f', charge.spent_mt, charge.remainder, now_ms)
    end
    redis.call('SET', KEYS[i], value, 'PX', string.format('%.0f', reset_ms + TTL_SLACK_MS))
  end
end
return answer
