#!/usr/bin/env bash
# A worker that loses no task. A person interrupts it with an urgent nudge and sends its work back for rework; then the
# worker is killed, and started again under the same name. It finishes the task that it began.
#
#   examples/interrupted-worker.sh                       in a new SQLite file
#   examples/interrupted-worker.sh postgres://…          in another store that several processes share
#
# Needs `cork` on the PATH, or its path in CORK. To run it again in the same store, set another CORK_BOARD.
set -euo pipefail

CORK=${CORK:-cork}
command -v "$CORK" >/dev/null || { echo "cork is not on the PATH: set CORK to its path" >&2; exit 1; }

# as NAME ROLE COMMAND…: run a command as this agent or person
as() { "$CORK" --principal "$1" --role "$2" "${@:3}"; }

# say NAME TEXT: print who does what
say() { printf '%-12s  %s\n' "$1" "$2"; }

# field NAME: a field of the JSON object on stdin
field() { grep --only-matching "\"$1\": *[^,}]*" | sed 's/^[^:]*: *//; s/"//g'; }

# wait_for TEXT: wait for an event of the board that contains the text; past events count. Give up after a minute.
wait_for() {
  grep --max-count=1 --fixed-strings --quiet -- "$1" <(timeout 60 "$CORK" board watch --from-rev 0 --json 2>/dev/null) ||
    { echo "this did not happen on the board: $1" >&2; return 1; }
}

# --- the worker -----------------------------------------------------------------------------------------------------------

# One life of the worker `dev`. It stores the task and the epoch of its claim: with them it gets the task back after a crash.
worker() {
  local claim='' task epoch
  if [ -s "$WORK/claim" ]; then
    read -r task epoch <"$WORK/claim"
    claim=$(as dev worker task claim "$task" --epoch "$epoch" --json)
    say dev "is back: $task is still its task, now under epoch $(field epoch <<<"$claim")"
    # The epoch before that is fenced: if the old process were still alive, it could do no harm.
    if as dev worker task complete "$task" "from the old process" --epoch "$epoch" 2>/dev/null; then
      echo "the old epoch was accepted" >&2
      return 1
    fi
  fi
  # It works until the board ends. Rework comes first.
  while [ -n "$claim" ] || claim=$(as dev worker task claim --wait-s 60 --json 2>/dev/null); do
    task=$(field task <<<"$claim")
    echo "$task $(field epoch <<<"$claim")" >"$WORK/claim"
    if [ "$(field attempt <<<"$claim")" = 1 ]; then
      draft "$task"
    elif [ ! -e "$WORK/crashed" ]; then
      say dev "has $task again, for rework, and is killed in the middle of it"
      touch "$WORK/crashed"
      kill -KILL $$
    else
      as dev worker task complete "$task" "A separate token table, with an index" >/dev/null
      say dev "finished $task"
    fi
    rm "$WORK/claim"
    claim=''
  done
}

draft() {
  local task=$1 answer
  # While it works, a person says something urgent.
  wait_for '"nudge_sent"'
  # The tool refuses to complete the task before that is read, and the refusal says it.
  if answer=$(as dev worker tools call complete_task '{"summary": "A new column in the user table"}' 2>&1); then
    echo "the urgent nudge did not interrupt: $answer" >&2
    return 1
  fi
  grep --quiet "Do not touch the user table" <<<"$answer"
  say dev "wanted to complete $task, and was interrupted: Do not touch the user table"
  as dev worker tools call check_nudges '{"ack": ["N-1"]}' >/dev/null
  as dev worker tools call complete_task '{"summary": "A separate token table"}' >/dev/null
  say dev "followed the nudge, and submitted $task for review"
}

if [ "${1:-}" = worker ]; then
  worker
  exit
fi

# What systemd or Kubernetes does: if the worker dies, start it again under the same name.
supervise() {
  local life
  for life in 1 2 3; do
    { bash "$0" worker 2>&3 && return; } 3>&2 2>/dev/null
    say supervisor "dev died in life $life; starting it again"
  done
  return 1
}

# --- the person -----------------------------------------------------------------------------------------------------------

export CORK_STORE=${1:-sqlite:$(mktemp -d)/interrupted-worker.db}
export CORK_BOARD=${CORK_BOARD:-interrupted-worker}
WORK=$(mktemp -d)
export CORK WORK
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$WORK"' EXIT

as grace human board create "Tokens" --id "$CORK_BOARD" --goal "Store refresh tokens" >/dev/null
as grace human task add "Design the token table" --needs-review >/dev/null
say grace "made the board $CORK_BOARD with one task"
supervise &
supervisor=$!

wait_for '"type":"task_started","task":"T-1"'
as grace human nudge "Do not touch the user table" --to dev --priority urgent >/dev/null
say grace "nudged dev: Do not touch the user table"

wait_for '"summary":"A separate token table"'
as grace human review T-1 rework "It needs an index on user_id" >/dev/null
say grace "sent T-1 back: It needs an index on user_id"

wait_for '"summary":"A separate token table, with an index"'
as grace human review T-1 approve >/dev/null
as grace human board complete >/dev/null
say grace "approved T-1, and completed the board"
wait $supervisor
say grace "everything is in $CORK_STORE"
say grace "to look at it: cork --store '$CORK_STORE' board watch $CORK_BOARD --from-rev 0"
