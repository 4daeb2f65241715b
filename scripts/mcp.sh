#!/bin/sh
# Tests the MCP server with programs that others wrote: the official Python and TypeScript clients, the inspector, the
# public conformance suite, and the reference memory server. Usage: mcp.sh [clients] [access] [inspector] [conformance]
# [reference]; all without arguments.
set -eu

target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
sources=$(cd "$(dirname "$0")/../crates/corkboard-server/tests/mcp" && pwd)
work=$target/mcp
mkdir -p "$work"

# Reinstall only if the pinned versions changed. No package runs a script of its own.
if ! cmp -s "$sources/package-lock.json" "$work/package-lock.json" || ! [ -d "$work/node_modules" ]; then
    command -v npm >/dev/null || { echo "make mcp needs npm: install Node.js first" >&2; exit 1; }
    rm -f "$work/package-lock.json"
    cp "$sources/package.json" "$work/"
    cp "$sources/package-lock.json" "$work/package-lock.json"
    (cd "$work" && npm ci --silent --no-audit --no-fund --ignore-scripts) || { rm -f "$work/package-lock.json"; exit 1; }
fi
if ! cmp -s "$sources/requirements.txt" "$work/installed.txt"; then
    command -v python3 >/dev/null || { echo "make mcp needs python3 with venv: install it first" >&2; exit 1; }
    python3 -m venv --clear "$work/python"
    "$work/python/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$sources/requirements.txt"
    cp "$sources/requirements.txt" "$work/installed.txt"
fi
PATH=$work/python/bin:$work/node_modules/.bin:$PATH
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 22 ] || { echo "make mcp needs Node.js 22" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- clients access inspector conformance reference
cork=$target/debug/cork

# Runs a program with a new server: PROGRAM CORK URL FOLDER. The server serves FOLDER/cork.db.
with_server() {
    served=$folder/served
    rm -rf "$served"
    mkdir "$served"
    CORK_TOKEN=the-admins-secret "$cork" --store "sqlite:$served/cork.db" serve --listen 127.0.0.1:0 --json \
        >"$served/started.json" 2>"$served/log.txt" &
    server=$!
    trap 'kill -9 $server 2>/dev/null || true; rm -rf "$folder"' EXIT
    tries=0
    until [ -s "$served/started.json" ]; do
        kill -0 $server 2>/dev/null && [ $tries -lt 300 ] || { cat "$served/log.txt" >&2; exit 1; }
        tries=$((tries + 1))
        sleep 0.1
    done
    url=$(python -c 'import json, sys; print(json.load(sys.stdin)["url"])' <"$served/started.json")
    status=0
    CORK_TOKEN=the-admins-secret "$@" "$cork" "$url" "$served" || status=$?
    if grep -i panicked "$served/log.txt" >&2; then status=1; fi
    kill -9 $server
    wait $server 2>/dev/null || true
    trap 'rm -rf "$folder"' EXIT
    [ $status -eq 0 ] || { cat "$served/log.txt" >&2; exit $status; }
}

for step; do
    case $step in
    clients)
        with_server python -W ignore "$sources/clients.py"
        # Node.js finds packages beside the program.
        cp "$sources/clients.mjs" "$work/"
        with_server node --disable-warning=ExperimentalWarning "$work/clients.mjs"
        ;;
    access) with_server python "$sources/access.py" ;;
    inspector)
        mcp-inspector --cli "$cork" -e "CORK_STORE=sqlite:$folder/inspected.db" mcp --method tools/list >"$folder/tools.json"
        python - "$folder/tools.json" <<'PYTHON'
import json, sys
tools = {tool["name"] for tool in json.load(open(sys.argv[1]))["tools"]}
if not {"memory_write", "write_memory", "search_memory", "write_session_handoff"} <= tools:
    sys.exit(f"the inspector shows other tools: {tools}")
print(f"inspector: {len(tools)} tools")
PYTHON
        ;;
    conformance) python "$sources/conformance.py" "$target/debug/mcp-fixture" "$folder" ;;
    reference) python "$sources/reference.py" "$cork" "$work/node_modules" "$folder" ;;
    *) echo "mcp.sh: no step called $step" >&2; exit 1 ;;
    esac
done
