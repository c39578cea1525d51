-- wrk's script: GET with the tokens of a file in turn, one a line; at the end one line of JSON for the program that started it.
--
--   wrk … --script load.lua http://127.0.0.1:10000/catalog -- tokens.txt

local requests = {}
local turn = 0

function init(args)
  for token in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format('GET', nil, { authorization = 'Bearer ' .. token })
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format(
    'weir {"requests":%d,"duration_us":%d,"p50_us":%d,"p99_us":%d,"refused":%d,"broken":%d}',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
