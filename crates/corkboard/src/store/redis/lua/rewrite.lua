#!lua
-- Replaces the bodies of some revisions, if the log's head is still the expected one. A stream's entries cannot be
-- changed, so a new stream with the same IDs is built beside the old one and renamed over it.
--
-- KEYS: head, log, snapshot, the new stream
-- ARGV: 1 expected revision, 2 expected commit, 3 the snapshot's revision or '', 4 its commit, 5 its body,
--       then for every record: revision, how many parts, the parts
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit')
local rev, commit = held[1] or '0', held[2] or string.rep('\0', 16)
if rev ~= ARGV[1] or commit ~= ARGV[2] then
  return {rev, commit}
end
local records, argument = {}, 6
while argument < #ARGV do
  records[ARGV[argument]] = argument
  argument = argument + 2 + tonumber(ARGV[argument + 1])
end
redis.call('UNLINK', KEYS[4])
-- Read in steps, so that the script uses little memory even if the entries are large.
local from, step = '-', 1
repeat
  local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', step)
  local largest = 0
  for _, entry in ipairs(page) do
    local id, fields = entry[1], entry[2]
    local revision, part = string.match(id, '^(%d+)-(%d+)$')
    local record = records[revision]
    if not record then
      redis.call('XADD', KEYS[4], id, unpack(fields))
    elseif part == '0' then
      redis.call('XADD', KEYS[4], id, 'c', fields[2], 't', fields[4], 'b', ARGV[record + 2])
      for further = 1, tonumber(ARGV[record + 1]) - 1 do
        redis.call('XADD', KEYS[4], revision .. '-' .. further, 'b', ARGV[record + 2 + further])
      end
    end
    from = '(' .. id
    largest = math.max(largest, #fields[#fields])
  end
  step = largest > 16384 and 1 or math.min(step * 2, 64)
until #page == 0
if from ~= '-' then
  redis.call('RENAME', KEYS[4], KEYS[2])
end
if ARGV[3] ~= '' then
  redis.call('HSET', KEYS[3], 'rev', ARGV[3], 'commit', ARGV[4], 'body', ARGV[5])
end
return 1
