"""Counts the changes that other stores keep when several processes write at once (docs/benchmarks.md, "Lost updates").

    npm install @modelcontextprotocol/server-memory@2026.8.31
    pip install langgraph-checkpoint-sqlite==3.1.2
    python scripts/lost-updates.py
"""

import json
import multiprocessing
import os
import subprocess
import tempfile
import threading

RUNS = 10
WRITERS = 20
INCREMENTS = 50
SERVER = ["npx", "@modelcontextprotocol/server-memory"]


def call(server, number, method, params):
    """Sends a request to an MCP server on stdio and returns its answer."""
    request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()
    return json.loads(server.stdout.readline())


def parallel_entities(folder):
    """Each of 20 MCP memory servers on one file creates one entity. Returns how many were acknowledged and kept."""
    path = os.path.join(folder, "memory.jsonl")
    environment = dict(os.environ, MEMORY_FILE_PATH=path)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    servers = [subprocess.Popen(SERVER, env=environment, text=True, **pipes) for _ in range(WRITERS)]
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    for server in servers:
        call(server, 1, "initialize", client)
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.stdin.flush()
    acknowledged = []

    def write(number):
        entity = {"name": f"entity {number}", "entityType": "test", "observations": ["written"]}
        call_of_tool = {"name": "create_entities", "arguments": {"entities": [entity]}}
        answer = call(servers[number], 2, "tools/call", call_of_tool)
        if "result" in answer and not answer["result"].get("isError"):
            acknowledged.append(number)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for server in servers:
        server.kill()
        server.wait()
    with open(path) as file:
        return len(acknowledged), sum(1 for line in file if line.strip())


def increment(path, barrier):
    from langgraph.store.sqlite import SqliteStore

    with SqliteStore.from_conn_string(path) as store:
        barrier.wait()
        for _ in range(INCREMENTS):
            number = store.get(("counters",), "number").value["number"]
            store.put(("counters",), "number", {"number": number + 1})


def parallel_increments(folder):
    """Two processes increment one number in LangGraph's SQLite store. Returns the number."""
    from langgraph.store.sqlite import SqliteStore

    path = os.path.join(folder, "store.db")
    with SqliteStore.from_conn_string(path) as store:
        store.setup()
        store.put(("counters",), "number", {"number": 0})
    barrier = multiprocessing.Barrier(2)
    processes = [multiprocessing.Process(target=increment, args=(path, barrier)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    with SqliteStore.from_conn_string(path) as store:
        return store.get(("counters",), "number").value["number"]


if __name__ == "__main__":
    for run in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            acknowledged, kept = parallel_entities(folder)
            print(f"MCP memory server: {acknowledged} of {WRITERS} acknowledged, {kept} kept")
            print(f"LangGraph SqliteStore: {parallel_increments(folder)} of {2 * INCREMENTS} increments kept")
