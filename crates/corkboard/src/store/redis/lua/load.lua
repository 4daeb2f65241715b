#!lua flags=no-writes
-- Reads the head of a log and its snapshot. Not a transaction: a full server refuses even read-only ones.
--
-- KEYS: head, snapshot
local held = redis.call('HMGET', KEYS[1], 'rev', 'commit', 'born_rev', 'born_commit')
local kept = redis.call('HMGET', KEYS[2], 'rev', 'commit', 'body')
return {held, kept}
