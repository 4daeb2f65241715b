-- The functions of version 1 of the tables. After a release, a change is a new step in schema.rs.

-- Every write is one function call, so one statement and one transaction: nothing stays locked between round trips, and
-- a proxy may use a different connection for each call. The functions' plans are cached by the server's connection.

-- Makes acknowledged writes durable, whatever the server's default is.
CREATE FUNCTION {schema}.make_durable() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END $$;

CREATE FUNCTION {schema}.set_due(space_id bigint, space_name text, due_at bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE {schema}.spaces SET next_due = due_at WHERE id = space_id AND next_due IS DISTINCT FROM due_at;
    IF due_at IS NULL THEN
        DELETE FROM {schema}.due WHERE space = space_id;
    ELSE
        INSERT INTO {schema}.due (space, kind, at) VALUES (space_id, split_part(space_name, '/', 1), due_at)
        ON CONFLICT (space) DO UPDATE SET at = due_at;
    END IF;
END $$;

-- Appends to many spaces independently. The rows returned are the conflicts, by their position in the arrays. Plans
-- that scan whole tables are disabled: a plan made while a table is small would still be used when it is large.
CREATE FUNCTION {schema}.append(
    names text[], expected_revs bigint[], expected_commits uuid[],
    new_revs bigint[], new_commits uuid[], dues bigint[], summaries bytea[],
    event_places integer[], event_revs bigint[], event_parts integer[],
    event_commits uuid[], event_times bigint[], event_bodies bytea[]
) RETURNS TABLE (place integer, head_rev bigint, head_commit uuid) LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- The IDs of the spaces by position; null for a conflict.
    ids bigint[];
    due_moved boolean;
    uuid_nil CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
BEGIN
    PERFORM {schema}.make_durable();
    -- Every transaction first locks in the order of IDs, then creates in the order of names, which prevents deadlocks.
    PERFORM FROM {schema}.spaces WHERE name = ANY (names) ORDER BY id FOR NO KEY UPDATE;
    IF 0 = ANY (expected_revs) THEN
        INSERT INTO {schema}.spaces (name, rev, commit_id, born_rev, born_commit, summary)
        SELECT wanted.name, 0, wanted.commit_id, 0, wanted.commit_id, ''
        FROM unnest(names, expected_revs, expected_commits) AS wanted (name, rev, commit_id)
        WHERE wanted.rev = 0 AND wanted.commit_id = uuid_nil ORDER BY wanted.name
        ON CONFLICT (name) DO NOTHING;
    END IF;
    WITH wanted AS (
        SELECT * FROM unnest(names, expected_revs, expected_commits, new_revs, new_commits, dues, summaries)
            WITH ORDINALITY AS w (name, expected_rev, expected_commit, new_rev, new_commit, due, summary, place)
    ), moved AS (
        UPDATE {schema}.spaces AS s SET rev = w.new_rev, commit_id = w.new_commit, summary = w.summary
        FROM wanted AS w
        WHERE s.name = w.name AND s.rev = w.expected_rev AND s.commit_id = w.expected_commit
        RETURNING w.place, s.id, s.next_due IS DISTINCT FROM w.due AS due_moved
    )
    SELECT array_agg(moved.id ORDER BY w.place), bool_or(moved.due_moved) INTO ids, due_moved
    FROM wanted AS w LEFT JOIN moved ON moved.place = w.place;
    INSERT INTO {schema}.events (space, rev, part, commit_id, at, body)
    SELECT ids[e.place], e.rev, e.part, e.commit_id, e.at, e.body
    FROM unnest(event_places, event_revs, event_parts, event_commits, event_times, event_bodies)
        AS e (place, rev, part, commit_id, at, body)
    WHERE ids[e.place] IS NOT NULL;
    IF due_moved THEN
        PERFORM {schema}.set_due(s.id, s.name, w.due)
        FROM unnest(ids, dues) AS w (id, due) JOIN {schema}.spaces AS s ON s.id = w.id
        WHERE s.next_due IS DISTINCT FROM w.due;
    END IF;
    IF array_position(ids, NULL) IS NOT NULL THEN
        RETURN QUERY
        SELECT w.place::integer, s.rev, s.commit_id
        FROM unnest(names, ids) WITH ORDINALITY AS w (name, id, place)
        LEFT JOIN {schema}.spaces AS s ON s.name = w.name WHERE w.id IS NULL;
    END IF;
END $$;

-- Locks a space, and returns whether the log's head is the expected one. The ID is null if the space does not exist.
CREATE FUNCTION {schema}.lock_space(
    wanted text, expected_rev bigint, expected_commit uuid,
    OUT space_id bigint, OUT head_rev bigint, OUT head_commit uuid, OUT is_expected boolean
) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM {schema}.make_durable();
    SELECT id, rev, commit_id INTO space_id, head_rev, head_commit
    FROM {schema}.spaces WHERE name = wanted FOR NO KEY UPDATE;
    is_expected := (coalesce(head_rev, 0), coalesce(head_commit, '00000000-0000-0000-0000-000000000000'))
        = (expected_rev, expected_commit);
END $$;

-- Creates the row of a space that never existed. Returns null if another transaction was first.
CREATE FUNCTION {schema}.create_space(
    wanted text, new_rev bigint, new_commit uuid, birth_rev bigint, birth_commit uuid, facts bytea
) RETURNS bigint LANGUAGE sql AS $$
    INSERT INTO {schema}.spaces (name, rev, commit_id, born_rev, born_commit, summary)
    VALUES (wanted, new_rev, new_commit, birth_rev, birth_commit, facts)
    ON CONFLICT (name) DO NOTHING RETURNING id
$$;

-- A returned row is a conflict: the current head of the log.
CREATE FUNCTION {schema}.delete_space(wanted text, expected_rev bigint, expected_commit uuid, tombstone uuid)
RETURNS TABLE (head_rev bigint, head_commit uuid) LANGUAGE plpgsql AS $$
DECLARE
    locked record;
BEGIN
    SELECT * INTO locked FROM {schema}.lock_space(wanted, expected_rev, expected_commit);
    IF NOT locked.is_expected THEN
        RETURN QUERY SELECT locked.head_rev, locked.head_commit;
    ELSIF locked.space_id IS NULL THEN
        IF {schema}.create_space(wanted, 1, tombstone, 1, tombstone, '') IS NULL THEN
            RETURN QUERY SELECT rev, commit_id FROM {schema}.spaces WHERE name = wanted;
        END IF;
    ELSE
        DELETE FROM {schema}.events WHERE space = locked.space_id;
        DELETE FROM {schema}.snapshots WHERE space = locked.space_id;
        PERFORM {schema}.set_due(locked.space_id, wanted, NULL);
        UPDATE {schema}.spaces SET rev = expected_rev + 1, commit_id = tombstone,
            born_rev = expected_rev + 1, born_commit = tombstone, summary = '' WHERE id = locked.space_id;
    END IF;
END $$;

CREATE FUNCTION {schema}.import(
    wanted text, new_rev bigint, new_commit uuid, birth_rev bigint, birth_commit uuid, due_at bigint, facts bytea,
    event_revs bigint[], event_parts integer[], event_commits uuid[], event_times bigint[], event_bodies bytea[],
    snapshot_rev bigint, snapshot_commit uuid, snapshot_body bytea
) RETURNS TABLE (head_rev bigint, head_commit uuid) LANGUAGE plpgsql AS $$
DECLARE
    new_id bigint;
BEGIN
    PERFORM {schema}.make_durable();
    new_id := {schema}.create_space(wanted, new_rev, new_commit, birth_rev, birth_commit, facts);
    IF new_id IS NULL THEN
        RETURN QUERY SELECT rev, commit_id FROM {schema}.spaces WHERE name = wanted;
        RETURN;
    END IF;
    INSERT INTO {schema}.events (space, rev, part, commit_id, at, body)
    SELECT new_id, e.* FROM unnest(event_revs, event_parts, event_commits, event_times, event_bodies) AS e;
    IF snapshot_rev IS NOT NULL THEN
        INSERT INTO {schema}.snapshots (space, rev, commit_id, body)
        VALUES (new_id, snapshot_rev, snapshot_commit, snapshot_body);
    END IF;
    PERFORM {schema}.set_due(new_id, wanted, due_at);
END $$;

CREATE FUNCTION {schema}.rewrite(
    wanted text, expected_rev bigint, expected_commit uuid,
    event_revs bigint[], event_parts integer[], event_bodies bytea[],
    snapshot_rev bigint, snapshot_commit uuid, snapshot_body bytea
) RETURNS TABLE (head_rev bigint, head_commit uuid) LANGUAGE plpgsql AS $$
DECLARE
    locked record;
BEGIN
    SELECT * INTO locked FROM {schema}.lock_space(wanted, expected_rev, expected_commit);
    IF NOT locked.is_expected THEN
        RETURN QUERY SELECT locked.head_rev, locked.head_commit;
        RETURN;
    END IF;
    -- A revision that was dropped has no first part here, so it gets no other parts.
    DELETE FROM {schema}.events WHERE space = locked.space_id AND rev = ANY (event_revs) AND part > 0;
    UPDATE {schema}.events AS held SET body = e.body
    FROM unnest(event_revs, event_parts, event_bodies) AS e (rev, part, body)
    WHERE held.space = locked.space_id AND held.rev = e.rev AND held.part = 0 AND e.part = 0;
    INSERT INTO {schema}.events (space, rev, part, commit_id, at, body)
    SELECT held.space, held.rev, e.part, held.commit_id, held.at, e.body
    FROM unnest(event_revs, event_parts, event_bodies) AS e (rev, part, body)
    JOIN {schema}.events AS held ON held.space = locked.space_id AND held.rev = e.rev AND held.part = 0
    WHERE e.part > 0;
    IF snapshot_rev IS NOT NULL THEN
        DELETE FROM {schema}.snapshots AS held WHERE held.space = locked.space_id;
        INSERT INTO {schema}.snapshots (space, rev, commit_id, body)
        VALUES (locked.space_id, snapshot_rev, snapshot_commit, snapshot_body);
    END IF;
END $$;

CREATE FUNCTION {schema}.write_snapshot(wanted text, new_rev bigint, new_commit uuid, new_body bytea)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found_id bigint;
BEGIN
    PERFORM {schema}.make_durable();
    -- The lock prevents a concurrent deletion.
    SELECT id INTO found_id FROM {schema}.spaces
    WHERE name = wanted AND born_rev < new_rev AND rev >= new_rev FOR NO KEY UPDATE;
    IF FOUND THEN
        INSERT INTO {schema}.snapshots AS held (space, rev, commit_id, body)
        VALUES (found_id, new_rev, new_commit, new_body)
        ON CONFLICT (space) DO UPDATE SET rev = new_rev, commit_id = new_commit, body = new_body
        WHERE held.rev < new_rev;
    END IF;
END $$;

-- Returns the oldest revision left.
CREATE FUNCTION {schema}.trim(wanted text, up_to bigint, older_than bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    locked record;
    covered bigint;
    oldest bigint;
BEGIN
    PERFORM {schema}.make_durable();
    SELECT id, rev INTO locked FROM {schema}.spaces WHERE name = wanted FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN 1;
    END IF;
    SELECT least(up_to, rev) INTO covered FROM {schema}.snapshots WHERE space = locked.id;
    -- The log must not get gaps: drop only revisions before the first one to keep. The newest is always kept.
    SELECT min(rev) INTO oldest FROM {schema}.events
    WHERE space = locked.id AND (rev > coalesce(covered, 0) OR at >= older_than OR rev = locked.rev);
    oldest := coalesce(oldest, locked.rev + 1);
    DELETE FROM {schema}.events WHERE space = locked.id AND rev < oldest;
    RETURN oldest;
END $$;
