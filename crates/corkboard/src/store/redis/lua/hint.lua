#!lua flags=allow-oom
-- Writes hints of one index. It must not be refused where the append after it is let through.
--
-- KEYS: the index
-- ARGV: score, member
-- LT: of two scores the earlier one stays. A hint may be too early, never too late.
return redis.call('ZADD', KEYS[1], 'LT', ARGV[1], ARGV[2])
