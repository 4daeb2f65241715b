#!/bin/sh
# Generates a TypeScript and a Python client from a server's HTTP description, compiles a program against each, and runs
# the Python program (a team of agents) against that server.
set -eu

target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
sources=$(cd "$(dirname "$0")/../crates/corkboard-server/tests/clients" && pwd)
work=$target/clients
mkdir -p "$work"

# Reinstall only if the pinned versions changed.
if ! cmp -s "$sources/package-lock.json" "$work/package-lock.json" || ! [ -d "$work/node_modules" ]; then
    command -v npm >/dev/null || { echo "make clients needs npm: install Node.js first" >&2; exit 1; }
    rm -f "$work/package-lock.json"
    cp "$sources/package.json" "$work/"
    cp "$sources/package-lock.json" "$work/package-lock.json"
    (cd "$work" && npm ci --silent --no-audit --no-fund) || { rm -f "$work/package-lock.json"; exit 1; }
fi
if ! cmp -s "$sources/requirements.txt" "$work/installed.txt"; then
    command -v python3 >/dev/null || { echo "make clients needs python3 with venv: install it first" >&2; exit 1; }
    python3 -m venv --clear "$work/python"
    "$work/python/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$sources/requirements.txt"
    cp "$sources/requirements.txt" "$work/installed.txt"
fi
PATH=$work/python/bin:$work/node_modules/.bin:$PATH

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
url=$(python -c 'import json, sys; print(json.load(sys.stdin)["url"])' <"$folder/started.json")
# The description needs no token.
python -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())' \
    "$url/openapi.json" >"$work/openapi.json"

cd "$work"
cp "$sources/operations.ts" "$sources/team.py" .
openapi-typescript openapi.json --output corkboard.d.ts >/dev/null
tsc --strict --noEmit --target es2022 --module nodenext --lib es2022,dom operations.ts corkboard.d.ts

rm -rf client
openapi-python-client generate --path openapi.json --config "$sources/generate.yml" --output-path client --fail-on-warning
# Every operation exists and has a typed response.
python - <<'PYTHON'
import json, pathlib, sys
operations = [method["operationId"] for path in json.load(open("openapi.json"))["paths"].values() for method in path.values()]
files = {path.stem: path.read_text() for path in pathlib.Path("client/corkboard_client/api").glob("*/*.py")}
missing = [name for name in operations if name not in files]
untyped = [name for name in operations if name in files and "Response[Any]:" in files[name]]
if missing or untyped:
    sys.exit(f"not generated: {missing}; without a response type: {untyped}")
PYTHON
MYPYPATH=client mypy --strict team.py
PYTHONPATH=client python team.py "$url" the-admins-secret
