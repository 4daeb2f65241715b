#!lua flags=allow-oom
-- Removes a space's log and snapshot if the head is still the expected one, and leaves a tombstone. It frees memory, so
-- it may also run when the server is out of memory.
--
-- KEYS: head, log, snapshot
-- ARGV: 1 expected revision, 2 expected commit, 3 the tombstone's revision, 4 its commit, 5 channel
-- Returns: on a conflict, the current revision and commit; otherwise {'deleted', old born revision, old due hint}
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit', 'born_rev', 'hint')
local rev, commit = held[1] or '0', held[2] or string.rep('\0', 16)
if rev ~= ARGV[1] or commit ~= ARGV[2] then
  return {rev, commit}
end
redis.call('HSET', KEYS[1], 'rev', ARGV[3], 'commit', ARGV[4], 'born_rev', ARGV[3], 'born_commit', ARGV[4],
  'due', '', 'hint', '', 'summary', '')
redis.call('UNLINK', KEYS[2], KEYS[3])
redis.pcall('PUBLISH', ARGV[5], ARGV[3])
return {'deleted', held[3] or '0', held[4] or ''}
