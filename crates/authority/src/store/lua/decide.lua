-- Decides one check: `hits` equal requests against every limit at once. All limits are charged, or none.
--
-- KEYS     one counter for each charge, all with the same hash tag
-- ARGV[1]  hits; 0 asks how things stand and writes nothing
-- ARGV[2]  empty when every charge enforces; else a digit for each: 1 for one that only watches, 0 for others
-- ARGV[…]  for each key, in their order, five of
--            'fw' cost limit window_ms 0                fixed window
--            'mo' cost limit 0 0                        calendar month in UTC
--            'sw' cost limit window_ms 0                sliding window counter
--            'sl' cost limit window_ms 0                sliding log
--            'tb' cost capacity_mt refill_mt per_ms     token bucket; _mt are thousandths of a token
--            'gc' cost burst units per_ms               GCRA
--            'lq' cost depth units per_ms               leaky bucket as a queue
--          refill_mt / per_ms and units / per_ms are reduced fractions
-- Returns  {admitted, delay_ms, remaining_1, reset_ms_1, wait_ms_1, remaining_2, …}
--            admitted   how many of the hits pass
--            delay_ms   until the turn of the last of them comes, under a queue
--            remaining  whole units left after that
--            reset_ms   until the whole capacity is there again
--            wait_ms    until there is room for one more hit; 0 when there is now, and of one that watches
--          and behind that, when ARGV[2] is not empty, for each charge: how many of the admitted it would have denied
--
-- Values   'fw <start_ms> <spent>'                        fw and mo
--          'sw <start_ms> <current> <previous>'
--          'tb <spent_mt> <remainder> <updated_ms>'
--          'tat <tat_ms> <fraction> <updated_ms>'         gc and lq
--          a list of '<at_ms> <units> <sum>'              sl: an entry for each moment, oldest first; <sum> is of all
--                                                         entries so far, also of those that are gone
-- Anything else, of another algorithm or another type, counts as nothing spent. Every write carries its
-- TTL, so no key can outlive its meaning. A denial writes nothing.
--
-- The time is the store's. The arithmetic is that of the crate weir-limit, in doubles that hold integers:
-- the authority refuses numbers whose products would go beyond 2^53. (a - a % b) / b is the whole quotient.
--
-- Each algorithm is two functions, where n1 to n3 are its numbers in ARGV:
--   at(value, n1, n2, n3, key)                    units that are left, and what is left of the stored value: x, y, z
--   after(x, y, z, units, cost, n1, n2, n3, key)  remaining, reset_ms and wait_ms when `units` more are spent, what to
--                                                 store if any are, and when the turn of the last `cost` of them comes
-- A log is no value, so it is read and written by its two functions themselves.
--
-- Redis runs nothing else meanwhile, so this is written for few calls and few tables.

local MAX_EXACT = 9007199254740992
local TTL_SLACK_MS = 1000

local match, format, byte = string.match, string.format, string.byte
local min, max = math.min, math.max

local time = redis.call('TIME')
local now_ms = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000

-- Fixed window ------------------------------------------------------------------------------------------------

-- A window that has not begun still holds when the clock was set back a little.
local function holds(start_ms, by_the_clock_ms)
  return start_ms == by_the_clock_ms or (start_ms > now_ms and start_ms <= now_ms + TTL_SLACK_MS)
end

-- x, y: the window's start, and what was spent in it. The last argument is for months.
local function window_at(value, limit, window_ms, _, _, start_ms)
  start_ms = start_ms or now_ms - now_ms % window_ms
  local start, spent = match(value, '^fw (%d+) (%d+)$')
  if start and spent + 0 <= MAX_EXACT and holds(start + 0, start_ms) then
    return limit - spent, start + 0, spent + 0
  end
  return limit, start_ms, 0
end

local function window_after(start_ms, spent, _, units, cost, limit, window_ms, _, _, end_ms)
  spent = spent + units
  local remaining = max(limit - spent, 0)
  local until_end_ms = (end_ms or start_ms - start_ms % window_ms + window_ms) - now_ms
  return remaining, spent > 0 and until_end_ms or 0, cost > remaining and until_end_ms or 0,
    units > 0 and format('fw %.0f %.0f', start_ms, spent)
end

-- Token bucket ------------------------------------------------------------------------------------------------

-- Milliseconds until amount_mt have come back, of which remainder / per_ms already has; rounded up.
local function drain_ms(amount_mt, remainder, refill_mt, per_ms)
  local missing = amount_mt * per_ms - remainder
  if missing <= 0 then
    return 0
  end
  missing = missing + refill_mt - 1
  return (missing - missing % refill_mt) / refill_mt
end

-- x, y: what was spent and has not come back, and the remainder.
local function bucket_at(value, capacity_mt, refill_mt, per_ms)
  local spent_mt, remainder, updated_ms = match(value, '^tb (%d+) (%d+) (%d+)$')
  if spent_mt then
    spent_mt, remainder, updated_ms = spent_mt + 0, remainder + 0, updated_ms + 0
  end
  if not spent_mt or spent_mt > MAX_EXACT or remainder > MAX_EXACT or updated_ms > now_ms + TTL_SLACK_MS then
    return capacity_mt / 1000, 0, 0
  end
  local half = MAX_EXACT / 2
  spent_mt = min(spent_mt, (half - half % per_ms) / per_ms)
  remainder = min(remainder, per_ms - 1)
  local elapsed_ms = max(now_ms - updated_ms, 0)
  if elapsed_ms >= drain_ms(spent_mt, remainder, refill_mt, per_ms) then
    return capacity_mt / 1000, 0, 0
  end
  local refilled = elapsed_ms * refill_mt + remainder
  remainder = refilled % per_ms
  spent_mt = max(spent_mt - (refilled - remainder) / per_ms, 0)
  local left_mt = capacity_mt - spent_mt
  return (left_mt - left_mt % 1000) / 1000, spent_mt, remainder
end

local function bucket_after(spent_mt, remainder, _, units, cost, capacity_mt, refill_mt, per_ms)
  spent_mt = spent_mt + units * 1000
  local left_mt = max(capacity_mt - spent_mt, 0)
  return (left_mt - left_mt % 1000) / 1000,
    drain_ms(spent_mt, remainder, refill_mt, per_ms),
    drain_ms(spent_mt + cost * 1000 - capacity_mt, remainder, refill_mt, per_ms),
    units > 0 and format('tb %.0f %.0f %.0f', spent_mt, remainder, now_ms)
end

-- The others --------------------------------------------------------------------------------------------------

-- Made when a check needs one: a function that is never called still takes Redis its time to make.
local function others()
  local function quotient(a, b)
    return (a - a % b) / b
  end

  local function quotient_up(a, b)
    a = a + b - 1
    return (a - a % b) / b
  end

  -- Calendar month ----------------------------------------------------------------------------------------------

  -- The start of the month of a moment, and of the next; years begin in March, so that the leap day is their last.
  local function month(at_ms)
    local days = quotient(at_ms, 86400000) + 719468
    local day_of_era = days % 146097
    local year = quotient(
      day_of_era - quotient(day_of_era, 1460) + quotient(day_of_era, 36524) - quotient(day_of_era, 146096), 365)
    local day_of_year = day_of_era - (365 * year + quotient(year, 4) - quotient(year, 100))
    local nth = quotient(5 * day_of_year + 2, 153)
    local next_first = quotient(153 * (nth + 1) + 2, 5)
    if nth == 11 then
      year = year + 1
      next_first = (year % 4 == 0 and year % 100 ~= 0 or year % 400 == 0) and 366 or 365
    end
    local year_start = days - day_of_year - 719468
    return (year_start + quotient(153 * nth + 2, 5)) * 86400000, (year_start + next_first) * 86400000
  end

  local function month_at(value, limit)
    return window_at(value, limit, nil, nil, nil, (month(now_ms)))
  end

  local function month_after(start_ms, spent, _, units, cost, limit)
    local _, end_ms = month(start_ms)
    return window_after(start_ms, spent, nil, units, cost, limit, nil, nil, nil, end_ms)
  end

  -- Sliding window counter --------------------------------------------------------------------------------------

  -- Without the window before, as far as it is still in, and without this one.
  local function counter_left(start_ms, current, previous, limit, window_ms)
    local left = (limit - current) * window_ms - previous * min(start_ms + window_ms - now_ms, window_ms)
    return left > 0 and quotient(left, window_ms) or 0
  end

  -- x, y, z: the window's start, what was spent in it, and in the one before.
  local function counter_at(value, limit, window_ms)
    local start_ms = now_ms - now_ms % window_ms
    local start, current, previous = match(value, '^sw (%d+) (%d+) (%d+)$')
    if start then
      local most = quotient(MAX_EXACT / 4, window_ms)
      start, current, previous = start + 0, min(current + 0, most), min(previous + 0, most)
    end
    if start and holds(start, start_ms) then
      start_ms = start
    elseif start and start + window_ms == start_ms then
      current, previous = 0, current
    else
      current, previous = 0, 0
    end
    return counter_left(start_ms, current, previous, limit, window_ms), start_ms, current, previous
  end

  local function counter_after(start_ms, current, previous, units, cost, limit, window_ms)
    current = current + units
    local until_end_ms = start_ms + window_ms - now_ms
    local still_in = previous * min(until_end_ms, window_ms)
    local over = still_in + (current + cost - limit) * window_ms
    local reset_ms, wait_ms = 0, 0
    if current > 0 then
      reset_ms = until_end_ms + window_ms
    elseif previous > 0 then
      reset_ms = until_end_ms
    end
    if over > still_in then
      wait_ms = until_end_ms + quotient_up(over - still_in, max(current, 1))
    elseif over > 0 then
      wait_ms = max(until_end_ms - window_ms, 0) + quotient_up(over, previous)
    end
    return counter_left(start_ms, current, previous, limit, window_ms), reset_ms, wait_ms,
      units > 0 and format('sw %.0f %.0f %.0f', start_ms, current, previous)
  end

  -- Sliding log -------------------------------------------------------------------------------------------------

  -- Its time, its units, and the sum of all units up to it; nothing when it is damaged.
  local function log_entry(key, index)
    local at_ms, units, sum = match(redis.call('LINDEX', key, index) or '', '^(%d+) (%d+) (%d+)$')
    if sum and sum + 0 <= MAX_EXACT then
      return at_ms + 0, units + 0, sum + 0
    end
  end

  -- The first entry from `low` to `high` whose time, or else sum, is beyond a bound; high + 1 when none is. Both
  -- rise along the log, and it is mostly near `low`: so the steps grow until one is too far, and then are halved.
  local function log_beyond(key, by_time, bound, low, high)
    local step, behind, growing = 1, high + 1, true
    while low < behind do
      local probe = growing and min(low + step, behind) - 1 or low + quotient(behind - low, 2)
      local at_ms, _, sum = log_entry(key, probe)
      if at_ms and (by_time and at_ms or sum) <= bound then
        low, step = probe + 1, step * 2
      else
        behind, growing = probe, false
      end
    end
    return low
  end

  -- x: the log as far as it counts, from entry `first` to `last` of `length`.
  local function log_at(_, limit, window_ms, _, key)
    local length = redis.pcall('LLEN', key)
    -- What is no log at all is cleared away before the first entry.
    local none = { length = length == 0 and 0 or 1, gone = 0, sum = 0 }
    if type(length) ~= 'number' or length == 0 then
      return limit, none
    end
    local last = length - 1
    local at_ms, units, sum = log_entry(key, last)
    if at_ms and at_ms > now_ms + TTL_SLACK_MS then
      -- Of a clock that was set back.
      last = log_beyond(key, true, now_ms + TTL_SLACK_MS, 0, last) - 1
      at_ms, units, sum = log_entry(key, last)
    end
    if not at_ms or last < 0 or at_ms <= now_ms - window_ms then
      return limit, none
    end
    local first = log_beyond(key, true, now_ms - window_ms, 0, last)
    local first_ms, first_units, first_sum = log_entry(key, first)
    if not first_ms or first_units > first_sum or first_sum > sum then
      return limit, none
    end
    local gone = first_sum - first_units
    return limit - (sum - gone),
      { length = length, first = first, last = last, gone = gone, sum = sum, at_ms = at_ms, units = units }
  end

  local function log_after(log, _, _, units, cost, limit, window_ms, _, key)
    local sum, at_ms = log.sum + units, log.at_ms
    if units > 0 and not (at_ms and at_ms >= now_ms) then
      at_ms = now_ms
    end
    local remaining, wait_ms = max(limit - (sum - log.gone), 0), 0
    if cost > remaining then
      -- When enough of the oldest have left; the last one may be what is being spent.
      local leaves_ms
      if log.first then
        local index = log_beyond(key, false, sum + cost - limit - 1, log.first, log.last)
        -- Behind the last one may still stand those that a clock set back has left behind.
        leaves_ms = index <= log.last and log_entry(key, index) or nil
      end
      wait_ms = max((leaves_ms or at_ms) + window_ms - now_ms, 1)
    end
    local reset_ms = at_ms and at_ms + window_ms - now_ms or 0
    if units > 0 then
      if not log.first then
        if log.length > 0 then
          redis.call('DEL', key)
        end
      elseif log.first > 0 or log.last < log.length - 1 then
        redis.call('LTRIM', key, log.first, log.last)
      end
      if log.at_ms == at_ms then
        redis.call('LSET', key, -1, format('%.0f %.0f %.0f', at_ms, log.units + units, sum))
      else
        redis.call('RPUSH', key, format('%.0f %.0f %.0f', at_ms, units, sum))
      end
      redis.call('PEXPIRE', key, reset_ms + TTL_SLACK_MS)
    end
    return remaining, reset_ms, wait_ms
  end

  -- GCRA, and the leaky bucket as a queue -----------------------------------------------------------------------

  -- x: how far the arrival time is ahead, in milliseconds times the rate's units.
  local function arrival_at(value, burst, units, per_ms)
    local tat_ms, fraction, updated_ms = match(value, '^tat (%d+) (%d+) (%d+)$')
    if not tat_ms or updated_ms + 0 > now_ms + TTL_SLACK_MS or tat_ms + 0 < updated_ms + 0 then
      return burst, 0
    end
    local backlog = min(tat_ms - updated_ms, quotient(MAX_EXACT / 2, units)) * units + min(fraction + 0, units - 1)
    backlog = min(backlog, burst * per_ms)
    local elapsed_ms = max(now_ms - updated_ms, 0)
    if elapsed_ms >= quotient_up(backlog, units) then
      return burst, 0
    end
    backlog = backlog - elapsed_ms * units
    return quotient(burst * per_ms - backlog, per_ms), backlog
  end

  local function arrival_after(backlog, _, _, spent, cost, burst, units, per_ms)
    backlog = backlog + spent * per_ms
    local left, needed, fraction = burst * per_ms - backlog, cost * per_ms, backlog % units
    return left > 0 and quotient(left, per_ms) or 0, quotient_up(backlog, units),
      needed > left and quotient_up(needed - left, units) or 0,
      spent > 0 and format('tat %.0f %.0f %.0f', now_ms + (backlog - fraction) / units, fraction, now_ms),
      backlog > needed and quotient_up(backlog - needed, units) or 0
  end

  return {
    mo = { month_at, month_after },
    sw = { counter_at, counter_after },
    sl = { log_at, log_after },
    gc = { arrival_at, arrival_after },
    lq = { arrival_at, arrival_after },
  }
end

-- The decision ------------------------------------------------------------------------------------------------

local stored = redis.call('MGET', unpack(KEYS))
local made

-- First what is left under each limit, and how many of the hits all that enforce have room for. What is left of the
-- values stands meanwhile in the places of the answer, and the numbers in those of their texts.
local admitted = ARGV[1] + 0
local answer = { admitted, 0 }
local watching, rooms = ARGV[2], nil
if watching ~= '' then
  rooms = {}
end
for i = 1, #KEYS do
  local arg = 5 * i - 2
  local kind, cost, at = ARGV[arg], ARGV[arg + 1] + 0, nil
  if kind == 'tb' then
    at = bucket_at
  elseif kind == 'fw' then
    at = window_at
  else
    made = made or others()
    at = made[kind][1]
  end
  local n1, n2, n3 = ARGV[arg + 2] + 0, ARGV[arg + 3] + 0, ARGV[arg + 4] + 0
  ARGV[arg + 1], ARGV[arg + 2], ARGV[arg + 3], ARGV[arg + 4] = cost, n1, n2, n3
  local left, x, y, z = at(stored[i] or '', n1, n2, n3, KEYS[i])
  answer[3 * i], answer[3 * i + 1], answer[3 * i + 2] = x, y or 0, z or 0
  local room = left > 0 and (left - left % cost) / cost or 0
  if rooms and byte(watching, i) == 49 then
    rooms[i] = room
  elseif room < admitted then
    admitted = room
  end
end
answer[1] = admitted

-- Then what that leaves, and if anything was admitted, its record.
for i = 1, #KEYS do
  local arg = 5 * i - 2
  local kind, cost, after = ARGV[arg], ARGV[arg + 1], nil
  if kind == 'tb' then
    after = bucket_after
  elseif kind == 'fw' then
    after = window_after
  else
    after = made[kind][2]
  end
  local watched = rooms and rooms[i]
  local counted = watched and min(admitted, watched) or admitted
  local remaining, reset_ms, wait_ms, value, turn_ms = after(
    answer[3 * i], answer[3 * i + 1], answer[3 * i + 2],
    cost * counted, cost, ARGV[arg + 2], ARGV[arg + 3], ARGV[arg + 4], KEYS[i])
  if value then
    redis.call('SET', KEYS[i], value, 'PX', reset_ms + TTL_SLACK_MS)
    if kind == 'lq' and not watched then
      answer[2] = max(answer[2], turn_ms)
    end
  end
  answer[3 * i], answer[3 * i + 1], answer[3 * i + 2] = remaining, reset_ms, watched and 0 or wait_ms
end
if rooms then
  for i = 1, #KEYS do
    answer[#answer + 1] = rooms[i] and max(admitted - rooms[i], 0) or 0
  end
end
return answer
