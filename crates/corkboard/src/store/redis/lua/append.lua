#!lua
-- Appends records if the log's head is still the expected one, all or nothing.
--
-- KEYS: head, log
-- ARGV: 1 expected revision, 2 expected commit, 3 new revision, 4 new commit, 5 due date or '', 6 the due date's hint
--       or '', 7 'listed' if the space's hint was written, else '', 8 summary, 9 channel,
--       then for every entry of the stream: id, commit ('' in a further part), time, body
--
-- Redis does not roll back a script that fails, so nothing here may fail after the first write:
-- - Memory: the first line declares the script's flags. Without `allow-oom`, Redis refuses to start it when
--   `maxmemory` is reached. Once started, its writes are allowed (tested on 7.0).
-- - Disk errors (MISCONF) and replicas (READONLY): Redis refuses to start it, too.
-- - Permissions and types: after HSET, only the first XADD can be refused. Then the script restores the head (except
--   the summary, which does not describe the log). The later IDs only ascend, so those calls succeed.
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit', 'born_rev', 'due', 'hint')
local rev, commit = held[1] or '0', held[2] or string.rep('\0', 16)
if rev ~= ARGV[1] or commit ~= ARGV[2] then
  return {rev, commit}
end
local due, hint = held[4] or '', held[5] or ''
local moves = ARGV[5] ~= due
if (rev == (held[3] or '0') and ARGV[7] == '') or (moves and ARGV[5] ~= '' and ARGV[6] == '') then
  return 2
end
if moves then
  redis.call('HSET', KEYS[1], 'rev', ARGV[3], 'commit', ARGV[4], 'summary', ARGV[8], 'due', ARGV[5], 'hint', ARGV[6])
else
  redis.call('HSET', KEYS[1], 'rev', ARGV[3], 'commit', ARGV[4], 'summary', ARGV[8])
end
local first = redis.pcall('XADD', KEYS[2], ARGV[10], 'c', ARGV[11], 't', ARGV[12], 'b', ARGV[13])
if type(first) == 'table' and first['err'] then
  redis.call('HSET', KEYS[1], 'rev', rev, 'commit', commit, 'due', due, 'hint', hint)
  if string.find(first['err'], 'equal or smaller', 1, true) then
    return redis.error_reply('DAMAGED the log has records after its head')
  end
  return first
end
for entry = 14, #ARGV, 4 do
  if ARGV[entry + 1] == '' then
    redis.call('XADD', KEYS[2], ARGV[entry], 'b', ARGV[entry + 3])
  else
    redis.call('XADD', KEYS[2], ARGV[entry], 'c', ARGV[entry + 1], 't', ARGV[entry + 2], 'b', ARGV[entry + 3])
  end
end
-- Listeners also poll, so a missing permission to publish is not an error.
redis.pcall('PUBLISH', ARGV[9], ARGV[3])
-- Return the hint that is obsolete now, if there is one.
local stale = moves and hint or ARGV[6]
return stale ~= '' and stale or 1
