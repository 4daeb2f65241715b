#!lua flags=no-writes
-- Reads a page of the log, and the head of the log at that moment.
--
-- KEYS: head, log
-- ARGV: 1 the cursor's revision, 2 the one after it, 3 maximum number of records, 4 maximum number of bytes
-- Returns: revision, commit, born revision, born commit, commit at the cursor or '', oldest ID or '', entries
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit', 'born_rev', 'born_commit')
local answer = {held[1] or '', held[2] or '', held[3] or '', held[4] or '', '', '', {}}
if held[1] == false or held[1] == ARGV[1] then
  return answer
end
local cursor = redis.call('XRANGE', KEYS[2], ARGV[1] .. '-0', ARGV[1] .. '-0')
if cursor[1] then
  answer[5] = cursor[1][2][2]
end
local first = redis.call('XRANGE', KEYS[2], ARGV[2] .. '-0', '+', 'COUNT', 1)
if not first[1] or first[1][1] ~= ARGV[2] .. '-0' then
  local oldest = redis.call('XRANGE', KEYS[2], '-', '+', 'COUNT', 1)
  answer[6] = oldest[1] and oldest[1][1] or ''
  return answer
end
local entries, records, bytes = answer[7], 0, 0
local limit, most = tonumber(ARGV[3]), tonumber(ARGV[4])
-- Read in steps, so that little is read beyond the page even if the entries are large.
local from, step = ARGV[2] .. '-0', 1
while true do
  local page = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', step)
  local largest = 0
  for _, entry in ipairs(page) do
    -- A revision begins with part 0. The page contains all of its parts.
    if string.sub(entry[1], -2) == '-0' then
      if records == limit or bytes >= most then
        return answer
      end
      records = records + 1
    end
    local fields = entry[2]
    local size = #fields[#fields]
    largest = math.max(largest, size)
    bytes = bytes + size
    entries[#entries + 1] = entry
  end
  if #page < step then
    break
  end
  from = '(' .. page[#page][1]
  step = largest > 16384 and 1 or math.min(step * 2, 64)
end
return answer
