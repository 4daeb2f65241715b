#!lua
-- Begins a log as a copy of another, if the space never existed here. As in append.lua, nothing may fail after the
-- first write.
--
-- KEYS: head, log, snapshot
-- ARGV: 1 revision, 2 commit, 3 born revision, 4 born commit, 5 due date or '', 6 its hint or '', 7 summary, 8 channel,
--       9 the snapshot's revision or '', 10 its commit, 11 its body, then the entries as in append.lua
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit')
if held[1] and held[1] ~= '0' then
  return held
end
if redis.call('EXISTS', KEYS[2], KEYS[3]) > 0 then
  return redis.error_reply('DAMAGED there is a log or a snapshot without a head')
end
if ARGV[9] ~= '' then
  redis.call('HSET', KEYS[3], 'rev', ARGV[9], 'commit', ARGV[10], 'body', ARGV[11])
end
for entry = 12, #ARGV, 4 do
  if ARGV[entry + 1] == '' then
    redis.call('XADD', KEYS[2], ARGV[entry], 'b', ARGV[entry + 3])
  else
    redis.call('XADD', KEYS[2], ARGV[entry], 'c', ARGV[entry + 1], 't', ARGV[entry + 2], 'b', ARGV[entry + 3])
  end
end
-- The head is written last: without it, the space does not exist.
redis.call('HSET', KEYS[1], 'rev', ARGV[1], 'commit', ARGV[2], 'born_rev', ARGV[3], 'born_commit', ARGV[4],
  'due', ARGV[5], 'hint', ARGV[6], 'summary', ARGV[7])
redis.pcall('PUBLISH', ARGV[8], ARGV[1])
return 1
