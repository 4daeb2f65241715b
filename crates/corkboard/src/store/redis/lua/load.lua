#!lua flags=no-writes
-- Where a log is, and its snapshot. Not a transaction: a full server refuses those even if they only read.
--
-- KEYS: head, snapshot
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit', 'born_rev', 'born_commit')
local kept = redis.call('HMGET', KEYS[2], 'rev', 'commit', 'body')
return {held, kept}
