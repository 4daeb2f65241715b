#!lua
-- Tries all commands that Corkboard uses on temporary keys, and reports which ones this user may not run. Otherwise a
-- script would find out halfway and leave half a write. Saves the format of a new store.
--
-- KEYS: meta, two keys to try on
-- ARGV: 1 the format, 2 a channel
-- Returns: the store's format, then the commands that were refused
local refused = {}
local function try(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer['err'] then
    refused[#refused + 1] = string.lower((...))
  end
  return answer
end

try('HSET', KEYS[2], 'field', '')
try('HGET', KEYS[2], 'field')
try('HMGET', KEYS[2], 'field')
try('UNLINK', KEYS[2], KEYS[3])
try('XADD', KEYS[2], '1-0', 'field', '')
try('XRANGE', KEYS[2], '-', '+')
try('XTRIM', KEYS[2], 'MAXLEN', '1')
try('EXISTS', KEYS[2])
try('RENAME', KEYS[2], KEYS[3])
try('UNLINK', KEYS[2], KEYS[3])
try('ZADD', KEYS[2], '0', 'member')
try('ZREM', KEYS[2], 'member')
try('ZRANGEBYLEX', KEYS[2], '-', '+')
try('ZRANGEBYSCORE', KEYS[2], '-inf', '+inf')
try('UNLINK', KEYS[2], KEYS[3])
try('PUBLISH', ARGV[2], '')

local format = redis.pcall('HGET', KEYS[1], 'format')
if type(format) ~= 'string' then
  format = ARGV[1]
  redis.pcall('HSET', KEYS[1], 'format', format)
end
return {format, unpack(refused)}
