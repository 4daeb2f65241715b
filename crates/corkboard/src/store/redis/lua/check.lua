#!lua flags=no-writes
-- A part of what a check looks at: which entries there are, without their bodies.
--
-- KEYS: head, log, snapshot
-- ARGV: 1 where in the log to begin
-- Returns: revision, born revision, the snapshot's revision (each '' where there is none), 1 if there are more entries, ids
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
