#!lua flags=allow-oom
-- Writes hints of one index. It must not be refused when the append that follows is allowed.
--
-- KEYS: the index
-- ARGV: score, member
-- LT keeps the earlier of two scores: a hint may be too early, never too late.
return redis.call('ZADD', KEYS[1], 'LT', ARGV[1], ARGV[2])
