#!lua
-- Stores a snapshot if it is newer than the existing one, and belongs to this log and this life of the space.
--
-- KEYS: head, log, snapshot
-- ARGV: 1 revision, 2 commit, 3 body

-- Compare revisions as text, because Lua's numbers are only exact up to 2^53.
local function less(one, other)
  return #one < #other or (#one == #other and one < other)
end

local held = redis.call('HMGET', KEYS[1], 'rev', 'commit', 'born_rev')
local kept = redis.call('HGET', KEYS[3], 'rev')
local lives = held[1] and less(held[3] or '0', ARGV[1]) and not less(held[1], ARGV[1])
if not lives or (kept and not less(kept, ARGV[1])) then
  return 0
end
local commit = held[1] == ARGV[1] and held[2]
if not commit then
  local record = redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', ARGV[1] .. '-0')
  commit = record[1] and record[1][2][2]
end
if commit and commit ~= ARGV[2] then
  return 0
end
redis.call('HSET', KEYS[3], 'rev', ARGV[1], 'commit', ARGV[2], 'body', ARGV[3])
return 1
