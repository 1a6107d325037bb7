-- Takes from one bucket, or finds out how long it takes until one could.
-- KEYS[1] is where the bucket is kept: "<tokens> <microseconds since 1970 when there were as many>". Where nothing is kept, it is full.
-- ARGV: tokens that flow in within a microsecond, tokens that fit in, the longest wait in microseconds, tokens wanted (0 only looks).
-- Returns the wait in microseconds; a negative one says that nothing was taken, because the wait would be too long.
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local max_wait, wanted = tonumber(ARGV[3]), tonumber(ARGV[4])

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000000 + tonumber(clock[2])

local tokens = burst
local kept = redis.call('GET', KEYS[1])
if kept then
  local level, at = string.match(kept, '^(%S+) (%d+)$')
  level, at = tonumber(level), tonumber(at)
  if not (level and at and level <= burst) then
    return redis.error_reply('WRONGTYPE ' .. 'The key holds no bucket')
  end
  -- A clock that was set back lets nothing flow in, once, and counts from there.
  tokens = math.min(burst, level + math.max(0, now - at) * rate)
end

local left, wait = tokens - wanted, 0
if left < 0 then
  wait = math.ceil(-left / rate)
end
if wanted > 0 and wait > max_wait then
  return -wait
end

-- The bucket is full again when its key ends, with a second in reserve and ten years at most.
local life = math.min(math.ceil((burst - left) / rate / 1000) + 1000, 315360000000)
redis.call('SET', KEYS[1], string.format('%.17g %.0f', left, now), 'PX', string.format('%.0f', life))
return wait
