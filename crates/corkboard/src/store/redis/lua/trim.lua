#!lua flags=allow-oom
-- Drops old records that the snapshot covers, oldest first, so that there is never a gap.
--
-- KEYS: head, log, snapshot
-- ARGV: 1 the newest revision to drop, 2 drop only records decided before this time, or ''
-- Returns: the head's revision, the oldest ID left or '', and 1 if there is more to examine
local function less(one, other)
  return #one < #other or (#one == #other and one < other)
end

local function oldest()
  local first = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)
  return first[1] and first[1][1] or ''
end

local rev = redis.call('HGET', KEYS[1], 'rev') or '0'
local covered = redis.call('HGET', KEYS[3], 'rev')
if not covered then
  return {rev, oldest(), 0}
end
if less(ARGV[1], covered) then
  covered = ARGV[1]
end

-- Find the first record to keep, if any. A long log takes several calls, because a script blocks all other clients.
local stays, more = nil, 0
if ARGV[2] == '' then
  local next = redis.call('XRANGE', KEYS[2], '(' .. covered .. '-18446744073709551615', '+', 'COUNT', 1)
  stays = next[1] and next[1][1]
else
  local time, from, seen, bytes = tonumber(ARGV[2]), '-', 0, 0
  while not stays do
    local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', 16)
    for _, entry in ipairs(page) do
      local id, fields = entry[1], entry[2]
      if string.sub(id, -2) == '-0' then
        local goes = not less(covered, string.sub(id, 1, -3)) and tonumber(fields[4]) < time
        if not goes or seen > 1000 or bytes > 4194304 then
          stays, more = id, goes and 1 or 0
          break
        end
      end
      seen, bytes = seen + 1, bytes + #fields[#fields]
    end
    if #page < 16 then
      break
    end
    from = '(' .. page[16][1]
  end
end
-- Always keep the newest record.
redis.call('XTRIM', KEYS[2], 'MINID', stays or (rev .. '-0'))
return {rev, oldest(), more}
