-- Version 1 of the tables. {schema} is the quoted name of the schema.

-- One row per space: the head of its log, and the data for lists. Every append updates it in place (HOT), because no
-- indexed column changes and the page has room.
CREATE TABLE {schema}.spaces (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text COLLATE "C" NOT NULL UNIQUE,
    rev         bigint NOT NULL,
    commit_id   uuid NOT NULL,
    born_rev    bigint NOT NULL,
    born_commit uuid NOT NULL,
    next_due    bigint,
    summary     bytea NOT NULL
) WITH (fillfactor = 50);

-- The logs. A body longer than a part is stored in several rows.
CREATE TABLE {schema}.events (
    space       bigint NOT NULL,
    rev         bigint NOT NULL,
    part        integer NOT NULL,
    commit_id   uuid NOT NULL,
    at          bigint NOT NULL,
    body        bytea NOT NULL,
    PRIMARY KEY (space, rev, part)
);

CREATE TABLE {schema}.snapshots (
    space       bigint PRIMARY KEY,
    rev         bigint NOT NULL,
    commit_id   uuid NOT NULL,
    body        bytea NOT NULL
);

-- Separate from the heads, so that no indexed column of those changes.
CREATE TABLE {schema}.due (
    space       bigint PRIMARY KEY,
    kind        text COLLATE "C" NOT NULL,
    at          bigint NOT NULL
);
CREATE INDEX due_by_time ON {schema}.due (kind, at);

-- The planner's statistics contain samples of the data. No body may survive there after its deletion.
ALTER TABLE {schema}.spaces ALTER COLUMN summary SET STATISTICS 0;
ALTER TABLE {schema}.events ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE {schema}.snapshots ALTER COLUMN body SET STATISTICS 0;
