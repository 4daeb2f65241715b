#!/usr/bin/env bash
# "Build auth system for the API": an orchestrator, a developer and a reviewer, each in a separate process, and a person
# who steers them. They share only a board. A learning of the board is promoted to a memory core, appears in the next
# board, and is rolled back.
#
#   examples/auth-system.sh                       in a new SQLite file
#   examples/auth-system.sh postgres://…          in another store that several processes share: SQLite, Redis, PostgreSQL
#
# Needs `cork` on the PATH, or its path in CORK. To run it again in the same store, set another CORK_BOARD.
set -euo pipefail

CORK=${CORK:-cork}
command -v "$CORK" >/dev/null || { echo "cork is not on the PATH: set CORK to its path" >&2; exit 1; }
export CORK_STORE=${1:-sqlite:$(mktemp -d)/auth-system.db}
export CORK_BOARD=${CORK_BOARD:-auth-system}

# --- shared functions -----------------------------------------------------------------------------------------------------

# as NAME ROLE COMMAND…: run a command as this agent or person
as() { "$CORK" --principal "$1" --role "$2" "${@:3}"; }

# say NAME TEXT: print who does what
say() { printf '%-12s  %s\n' "$1" "$2"; }

# wait_for TEXT: wait for an event of the board that contains the text; past events count. Give up after a minute.
wait_for() {
  local what=$1
  grep --max-count=1 --fixed-strings --quiet -- "$what" <(timeout 60 "$CORK" board watch --from-rev 0 --json 2>/dev/null) ||
    { echo "this did not happen on the board: $what" >&2; return 1; }
}

# --- the orchestrator -----------------------------------------------------------------------------------------------------

orchestrator() {
  local me=conductor ready
  # 1. It creates the board. The cores provide their knowledge about the goal, and a pattern provides the first tasks.
  as $me orchestrator board create "Auth system" --id "$CORK_BOARD" --goal "Build auth system for the API" \
    --core auth-jwt --core acme-app --pattern best --json >/dev/null
  say $me "made the board $CORK_BOARD, with tasks $("$CORK" task list --ids | xargs)"

  # 2. It assigns the first task.
  as $me orchestrator task assign T-1 dev >/dev/null
  say $me "assigned T-1 to dev"

  # 7. It sees that the task was submitted, and assigns the review.
  wait_for '"type":"task_submitted","task":"T-1"'
  as $me orchestrator task assign T-1 qa --review >/dev/null
  say $me "assigned the review of T-1 to qa"

  # 8. It continues with the next tasks until none is left.
  wait_for '"type":"task_reviewed","task":"T-1"'
  while ready=$("$CORK" task list --view ready --ids | head --lines=1) && [ -n "$ready" ]; do
    as $me orchestrator task assign "$ready" dev >/dev/null
    say $me "assigned $ready to dev"
    wait_for "\"type\":\"task_completed\",\"task\":\"$ready\""
  done
  as $me orchestrator board complete --reason "the auth system works" >/dev/null
  say $me "completed the board"
}

# --- the developer --------------------------------------------------------------------------------------------------------

developer() {
  local me=dev revision task
  # It works on its assigned tasks, one after the other, until the board has ended.
  "$CORK" board watch --from-rev 0 --json | while read -r revision; do
    case $revision in *'"type":"task_assigned","task":"'*'","agent":"dev"}'*) ;; *) continue ;; esac
    task=${revision#*'"type":"task_assigned","task":"'}
    task=${task%%'"'*}
    as $me worker task claim "$task" >/dev/null
    if [ "$task" = T-1 ]; then
      design "$task"
    else
      as $me worker task complete "$task" "done as the context says" >/dev/null
      say $me "completed $task"
    fi
  done
}

design() {
  local me=dev task=$1 context
  # 3. It reads its context, discovers a constraint, and makes a decision.
  context=$(as $me worker task context "$task")
  grep --quiet "Build auth system for the API" <<<"$context"
  as $me worker board discover "User table has no refresh_token column" --type constraint --affects-task "$task" >/dev/null
  as $me worker board decide "Where do refresh tokens live?" "Add migration to add column" \
    --alternative "a separate table" --rationale "one table less to join" --affects-task "$task" >/dev/null
  say $me "found that the user table has no refresh_token column; decided to add it"

  # 5. On its next turn it reads its context again, which now contains the person's nudge.
  wait_for '"nudge_sent"'
  context=$(as $me worker task context "$task")
  grep --quiet "Don't modify user table, use separate token table" <<<"$context"
  as $me worker nudge ack N-1 >/dev/null
  as $me worker board decide "Where do refresh tokens live?" "A separate token table" --supersedes D-1 \
    --alternative "a column of the user table" --rationale "the user table is not ours to change: other services read it" \
    --affects-task "$task" >/dev/null
  say $me "read the nudge, and changed the decision"

  # 6. It creates the schema and submits it for review.
  mkdir -p "$WORK/schema"
  echo "CREATE TABLE tokens (id UUID PRIMARY KEY, user_id UUID NOT NULL, expires_at TIMESTAMPTZ NOT NULL);" \
    >"$WORK/schema/tokens.sql"
  (cd "$WORK" && as $me worker board artifact schema/tokens.sql --type code --task "$task" \
    --description "Refresh tokens, apart from users" >/dev/null)
  as $me worker task complete "$task" "Refresh tokens have a separate table" >/dev/null
  say $me "made schema/tokens.sql, and submitted $task for review"
}

# --- the reviewer ---------------------------------------------------------------------------------------------------------

reviewer() {
  local me=qa
  wait_for '"type":"review_assigned","task":"T-1","agent":"qa"'
  as $me reviewer review T-1 approve "Does not touch the user table" >/dev/null
  say $me "approved T-1"
}

# --- the person -----------------------------------------------------------------------------------------------------------

WORK=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$WORK"' EXIT

# Knowledge from earlier projects.
as grace human core add auth-jwt "Access tokens live 15 minutes, refresh tokens 30 days" --importance 0.8 >/dev/null
as grace human core add auth-jwt --tag task-pattern --importance 0.9 "Auth system for an API
1. Design token schema [review]
2. Implement token service
3. Write the tests" >/dev/null
as grace human core add acme-app "The API is a Rust service in front of PostgreSQL" >/dev/null

say grace "Build auth system for the API"
orchestrator &
orchestrator=$!
until "$CORK" board show >/dev/null 2>&1; do
  kill -0 $orchestrator 2>/dev/null || { wait $orchestrator; exit 1; }
  sleep 0.1
done
developer &
developer=$!
reviewer &
reviewer=$!

# 4. She sees the decision and disagrees.
wait_for '"decision_recorded"'
as grace human nudge "Don't modify user table, use separate token table" --to dev >/dev/null
say grace "nudged dev: Don't modify user table, use separate token table"

wait $orchestrator
wait $developer
wait $reviewer

# --- the learning ---------------------------------------------------------------------------------------------------------

say grace "lists what can be learned:"
as grace human learn extract
as grace human learn promote D-2 --core acme-app >/dev/null
as grace human board archive >/dev/null
say grace "promoted D-2 to acme-app, and archived the board"

NEXT=$CORK_BOARD-next
as grace human board create "Sessions" --id "$NEXT" --goal "Remember who uses the API: a PostgreSQL table for sessions, beside the token table" \
  --core acme-app --json >/dev/null
task=$(as grace human --board "$NEXT" task add "Design the session table")
say grace "made the next board, $NEXT. Its context knows:"
"$CORK" --board "$NEXT" task context "$task" | sed --quiet '/<cores>/,/<\/cores>/p'

as grace human learn rollback D-2 --reason "it was right for that project only" >/dev/null
say grace "took it back. The next board's context now knows:"
"$CORK" --board "$NEXT" task context "$task" | sed --quiet '/<cores>/,/<\/cores>/p'
say grace "everything is in $CORK_STORE"
say grace "to look at it: cork --store '$CORK_STORE' board show $CORK_BOARD"
