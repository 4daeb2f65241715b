//! The statements that the store sends. Functions that they call, such as `append`, are in `functions.sql`. `{schema}` is
//! replaced by the schema's quoted name.

use tokio_postgres::types::Type;

use super::settings::Schema;
use crate::store::Page;

/// The statements that the store uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Query {
    Clock,
    Head,
    Heads,
    AllHeads,
    Load,
    ReadAfter,
    List,
    Due,
    Append,
    Delete,
    Import,
    Rewrite,
    WriteSnapshot,
    Trim,
    Notify,
    Facts,
    Check,
    MayScrub,
    Mark,
    ScrubbedUpTo,
}

/// The statements' texts for one schema.
pub(super) struct Queries {
    texts: [String; Query::COUNT],
}

impl Queries {
    pub(super) fn new(schema: &Schema) -> Self {
        Self { texts: Query::ALL.map(|query| schema.fill(query.text())) }
    }

    pub(super) fn text(&self, query: Query) -> &str {
        self.texts.get(query as usize).map_or("", String::as_str)
    }
}

impl Query {
    const ALL: [Self; 20] = [
        Self::Clock,
        Self::Head,
        Self::Heads,
        Self::AllHeads,
        Self::Load,
        Self::ReadAfter,
        Self::List,
        Self::Due,
        Self::Append,
        Self::Delete,
        Self::Import,
        Self::Rewrite,
        Self::WriteSnapshot,
        Self::Trim,
        Self::Notify,
        Self::Facts,
        Self::Check,
        Self::MayScrub,
        Self::Mark,
        Self::ScrubbedUpTo,
    ];
    pub(super) const COUNT: usize = Self::ALL.len();

    fn text(self) -> &'static str {
        match self {
            // The process ID shows whether there is a proxy in between.
            Self::Clock => "SELECT pg_backend_pid(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
            Self::Head => "SELECT rev, commit_id FROM {schema}.spaces WHERE name = $1",
            Self::Heads => "SELECT name, rev, commit_id FROM {schema}.spaces WHERE name = ANY ($1)",
            Self::AllHeads => "SELECT name, rev FROM {schema}.spaces",
            Self::Load => {
                "SELECT s.rev, s.commit_id, s.born_rev, s.born_commit, n.rev, n.commit_id, n.body
                 FROM {schema}.spaces AS s LEFT JOIN {schema}.snapshots AS n ON n.space = s.id WHERE s.name = $1"
            }
            // $2 is the cursor, $3 the maximum number of revisions, $4 the maximum number of bytes. One statement, so
            // the head, the start of the log, the commit at the cursor and the page are consistent. There is a row even
            // if the page is empty.
            Self::ReadAfter => {
                "SELECT s.rev, s.commit_id, s.born_rev, s.born_commit,
                     (SELECT min(e.rev) FROM {schema}.events AS e WHERE e.space = s.id),
                     (SELECT e.commit_id FROM {schema}.events AS e WHERE e.space = s.id AND e.rev = $2 AND e.part = 0),
                     e.rev, e.commit_id, e.at, e.body
                 FROM {schema}.spaces AS s
                 LEFT JOIN LATERAL (
                     SELECT max(sized.rev) AS last FROM (
                         SELECT e.rev, e.part, sum(octet_length(e.body)) OVER (ORDER BY e.rev, e.part)
                             - octet_length(e.body) AS before
                         FROM {schema}.events AS e WHERE e.space = s.id AND e.rev > $2 AND e.rev <= $2 + $3
                     ) AS sized WHERE sized.part = 0 AND sized.before < $4
                 ) AS page ON true
                 LEFT JOIN {schema}.events AS e ON e.space = s.id AND e.rev > $2 AND e.rev <= page.last
                 WHERE s.name = $1 ORDER BY e.rev, e.part"
            }
            Self::List => {
                "SELECT name, rev, commit_id, next_due, summary FROM {schema}.spaces
                 WHERE name > $1 AND name < $2 AND (rev, commit_id) <> (born_rev, born_commit) ORDER BY name LIMIT $3"
            }
            Self::Due => {
                "SELECT s.name FROM {schema}.due AS d JOIN {schema}.spaces AS s ON s.id = d.space
                 WHERE d.kind = $1 AND d.at <= $2 ORDER BY d.at, s.name LIMIT $3"
            }
            Self::Append => {
                "SELECT place, head_rev, head_commit
                 FROM {schema}.append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
            }
            Self::Delete => "SELECT head_rev, head_commit FROM {schema}.delete_space($1, $2, $3, $4)",
            Self::Import => {
                "SELECT head_rev, head_commit
                 FROM {schema}.import($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"
            }
            Self::Rewrite => "SELECT head_rev, head_commit FROM {schema}.rewrite($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            Self::WriteSnapshot => "SELECT {schema}.write_snapshot($1, $2, $3, $4)",
            Self::Trim => "SELECT {schema}.trim($1, $2, $3)",
            Self::Notify => "SELECT pg_notify($1, payload) FROM unnest($2) AS payload",
            Self::Facts => {
                "SELECT current_setting('server_version'), current_setting('server_encoding'),
                     current_setting('synchronous_commit'), current_setting('fsync'),
                     current_setting('full_page_writes'),
                     coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false)"
            }
            Self::Check => CHECK,
            // Members of the owner's role may scrub. For others, VACUUM would silently skip the tables.
            Self::MayScrub => {
                "SELECT coalesce(bool_and(pg_has_role(relowner, 'USAGE')), false)
                 FROM pg_class WHERE oid = ANY (ARRAY['{schema}.spaces', '{schema}.events', '{schema}.snapshots',
                     '{schema}.due']::regclass[])"
            }
            Self::Mark => "SELECT (txid_current() % 4294967296)::text",
            // VACUUM (FREEZE) keeps rows that some snapshot may still see. relfrozenxid shows how far it got.
            Self::ScrubbedUpTo => {
                "SELECT bool_and(age(relfrozenxid) <= age($1::xid))
                 FROM pg_class WHERE oid = ANY (ARRAY['{schema}.spaces', '{schema}.events', '{schema}.snapshots',
                     '{schema}.due']::regclass[])"
            }
        }
    }

    pub(super) fn types(self) -> &'static [Type] {
        const HEADS: &[Type] = &[Type::TEXT_ARRAY];
        const NAME: &[Type] = &[Type::TEXT];
        match self {
            Self::Clock | Self::AllHeads | Self::Facts | Self::MayScrub | Self::Mark => &[],
            Self::Head | Self::Load | Self::ScrubbedUpTo => NAME,
            Self::Heads => HEADS,
            Self::Check => &[Type::INT4],
            Self::ReadAfter => &[Type::TEXT, Type::INT8, Type::INT8, Type::INT8],
            Self::List => &[Type::TEXT, Type::TEXT, Type::INT8],
            Self::Due => &[Type::TEXT, Type::INT8, Type::INT8],
            Self::Append => &[
                Type::TEXT_ARRAY,
                Type::INT8_ARRAY,
                Type::UUID_ARRAY,
                Type::INT8_ARRAY,
                Type::UUID_ARRAY,
                Type::INT8_ARRAY,
                Type::BYTEA_ARRAY,
                Type::INT4_ARRAY,
                Type::INT8_ARRAY,
                Type::INT4_ARRAY,
                Type::UUID_ARRAY,
                Type::INT8_ARRAY,
                Type::BYTEA_ARRAY,
            ],
            Self::Delete => &[Type::TEXT, Type::INT8, Type::UUID, Type::UUID],
            Self::Import => &[
                Type::TEXT,
                Type::INT8,
                Type::UUID,
                Type::INT8,
                Type::UUID,
                Type::INT8,
                Type::BYTEA,
                Type::INT8_ARRAY,
                Type::INT4_ARRAY,
                Type::UUID_ARRAY,
                Type::INT8_ARRAY,
                Type::BYTEA_ARRAY,
                Type::INT8,
                Type::UUID,
                Type::BYTEA,
            ],
            Self::Rewrite => &[
                Type::TEXT,
                Type::INT8,
                Type::UUID,
                Type::INT8_ARRAY,
                Type::INT4_ARRAY,
                Type::BYTEA_ARRAY,
                Type::INT8,
                Type::UUID,
                Type::BYTEA,
            ],
            Self::WriteSnapshot => &[Type::TEXT, Type::INT8, Type::UUID, Type::BYTEA],
            Self::Trim => &[Type::TEXT, Type::INT8, Type::INT8],
            Self::Notify => &[Type::TEXT, Type::TEXT_ARRAY],
        }
    }
}

/// Maximum size of a page, as a parameter.
pub(super) const PAGE_BYTES: i64 = Page::BYTES as i64;

/// Checks that every log has no gaps, begins where its space or its snapshot does, and ends at its head; that every
/// revision has all its parts, full except the last; and that the data beside the logs fits them. $1 is the size of a
/// part.
const CHECK: &str = "
WITH records AS (
    SELECT space, rev, count(*) AS parts, max(part) AS last_part, min(part) AS first_part,
        bool_and(part = last OR octet_length(body) = $1) AS full_parts, count(DISTINCT (commit_id, at)) AS stamps
    FROM (SELECT *, max(part) OVER (PARTITION BY space, rev) AS last FROM {schema}.events) AS e
    GROUP BY space, rev
), logs AS (
    SELECT space, count(*) AS count, min(rev) AS first, max(rev) AS last FROM records GROUP BY space
)
SELECT 'space ' || coalesce(s.name, 'without a name') || ': ' || l.count || ' records from ' || l.first || ' to ' || l.last
    || ' that are not a complete log'
FROM logs AS l LEFT JOIN {schema}.spaces AS s ON s.id = l.space
LEFT JOIN {schema}.snapshots AS n ON n.space = l.space
WHERE s.name IS NULL OR l.first <= s.born_rev OR l.last <> s.rev OR l.count <> l.last - l.first + 1
    OR (l.first > s.born_rev + 1 AND l.first > coalesce(n.rev, 0) + 1)
UNION ALL
SELECT 'space ' || s.name || ': its log is missing, from ' || s.born_rev + 1 || ' to ' || s.rev
FROM {schema}.spaces AS s LEFT JOIN logs AS l ON l.space = s.id LEFT JOIN {schema}.snapshots AS n ON n.space = s.id
WHERE l.space IS NULL AND s.rev <> s.born_rev AND s.rev > coalesce(n.rev, 0)
UNION ALL
SELECT 'space ' || s.name || ': its head is not its last record'
FROM {schema}.spaces AS s JOIN {schema}.events AS e ON e.space = s.id AND e.rev = s.rev AND e.part = 0
WHERE e.commit_id <> s.commit_id
UNION ALL
SELECT 'space ' || coalesce(s.name, 'without a name') || ': revision ' || r.rev || ' has missing parts'
FROM records AS r LEFT JOIN {schema}.spaces AS s ON s.id = r.space
WHERE r.first_part <> 0 OR r.last_part <> r.parts - 1 OR NOT r.full_parts OR r.stamps <> 1
UNION ALL
SELECT 'space ' || coalesce(s.name, 'without a name') || ': its snapshot shows revision ' || n.rev || ', which it never had'
FROM {schema}.snapshots AS n LEFT JOIN {schema}.spaces AS s ON s.id = n.space
WHERE s.name IS NULL OR n.rev <= s.born_rev OR n.rev > s.rev
UNION ALL
SELECT 'space ' || coalesce(s.name, 'without a name') || ': its two due dates differ'
FROM {schema}.spaces AS s FULL JOIN {schema}.due AS d ON d.space = s.id WHERE s.next_due IS DISTINCT FROM d.at
LIMIT 100";
