#!lua flags=no-writes
-- Lists the entries of a log, without their bodies, in several calls.
--
-- KEYS: head, log, snapshot
-- ARGV: 1 the ID at which to start
-- Returns: revision, born revision, the snapshot's revision (each '' if missing), 1 if there are more entries, IDs
local held = redis.call('HMGET', KEYS[1], 'rev', 'born_rev')
local kept = redis.call('HGET', KEYS[3], 'rev')
local ids, bytes, from, more = {}, 0, ARGV[1], 0
while true do
  local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 16)
  for _, entry in ipairs(page) do
    ids[#ids + 1] = entry[1]
    bytes = bytes + #entry[2][#entry[2]]
  end
  if #page < 16 then
    break
  end
  if #ids > 1000 or bytes > 4194304 then
    more = 1
    break
  end
  from = '(' .. page[16][1]
end
return {held[1] or '', held[2] or '', kept or '', more, ids}
