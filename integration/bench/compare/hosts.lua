-- Asks for another host with every request: 1,000 of them, made before the first one is sent.
-- Arguments: host=PATTERN step=N, where PATTERN is a format for the number of a host and the numbers are multiples of N.
local requests, at = {}, 0

function init(args)
  local pattern, step = args[1]:match("^host=(.*)$"), tonumber(args[2]:match("^step=(.*)$"))
  for i = 0, 999 do
    wrk.headers["Host"] = string.format(pattern, i * step)
    requests[i] = wrk.format()
  end
end

function request()
  at = (at + 1) % 1000
  return requests[at]
end
