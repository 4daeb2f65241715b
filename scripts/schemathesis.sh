#!/bin/sh
# Sends random valid and invalid requests, generated from the HTTP description, to a temporary server. No answer may be
# a 5xx or undocumented. Usage: schemathesis.sh SECONDS [more options of `st run`].
set -eu

seconds=$1
shift
target=${CARGO_TARGET_DIR:-target}
python=$target/schemathesis/bin/python
# All package versions are pinned, because the generated requests depend on them.
pinned=$(dirname "$0")/schemathesis-requirements.txt

if ! cmp -s "$pinned" "$target/schemathesis/installed.txt"; then
    command -v python3 >/dev/null || { echo "schemathesis needs python3 with venv: install it first" >&2; exit 1; }
    python3 -m venv --clear "$target/schemathesis"
    "$python" -m pip install --quiet --disable-pip-version-check --requirement "$pinned"
    cp "$pinned" "$target/schemathesis/installed.txt"
fi

folder=$(mktemp -d)
CORK_TOKEN=the-admins-secret "$target/debug/cork" --store "sqlite:$folder/cork.db" serve --listen 127.0.0.1:0 --json \
    >"$folder/started.json" 2>"$folder/log.txt" &
server=$!
trap 'kill -9 $server 2>/dev/null || true; rm -rf "$folder"' EXIT
tries=0
until [ -s "$folder/started.json" ]; do
    kill -0 $server 2>/dev/null && [ $tries -lt 300 ] || { cat "$folder/log.txt" >&2; exit 1; }
    tries=$((tries + 1))
    sleep 0.1
done
url=$("$python" -c 'import json, sys; print(json.load(sys.stdin)["url"])' <"$folder/started.json")

# One worker, because Python 3.11 sometimes fails when two threads parse Python at the same time, as Hypothesis does.
# Event streams are excluded because they do not end by themselves; crates/corkboard-server/tests/http/events.rs tests
# them.
status=0
SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH=$(dirname "$0") "$target/schemathesis/bin/st" run "$url/openapi.json" \
    --header "Authorization: Bearer the-admins-secret" --max-time "$seconds" --request-timeout 30 --workers 1 \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance \
    --exclude-path-regex "/events$" --suppress-health-check all --warnings off --no-color "$@" || status=$?
# The server must still run and be ready.
"$python" - "$url" <<'PYTHON' || status=1
import sys, urllib.request
urllib.request.urlopen(sys.argv[1] + "/readyz", timeout=30)
PYTHON
if grep -i "panicked" "$folder/log.txt" >&2; then status=1; fi
exit $status
