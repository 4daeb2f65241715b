"""Makes the same calls to the reference memory server and to `cork mcp --tools reference`. The answers must be equal.

Usage: reference.py CORK PACKAGES FOLDER. PACKAGES contains @modelcontextprotocol/server-memory.
"""

import json
import os
import pathlib
import subprocess
import sys

CORK, PACKAGES, FOLDER = sys.argv[1:]
CALLS = json.loads((pathlib.Path(__file__).parent / "reference_calls.json").read_text())
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


class Server:
    """A server that answers over stdio."""

    def __init__(self, command, **variables):
        environment = {"HOME": FOLDER, "PATH": os.environ["PATH"], **variables}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(command, text=True, cwd=FOLDER, env=environment, **pipes)
        self.asked = 0
        self.ask("initialize", CLIENT)
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while (answer := json.loads(self.process.stdout.readline())).get("id") != self.asked:
            pass
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=120)


def comparable(answer):
    """What a client can tell apart. A protocol error and an error of a tool are different; their order of keys is not."""
    result = answer.get("result", {})
    return {
        "error": answer.get("error"),
        "text": [part.get("text") for part in result.get("content", [])],
        "isError": result.get("isError", False),
        "structuredContent": result.get("structuredContent"),
    }


def main():
    memory = f"{PACKAGES}/@modelcontextprotocol/server-memory/dist/index.js"
    reference = Server(["node", memory], MEMORY_FILE_PATH=f"{FOLDER}/memory.jsonl")
    corkboard = Server([CORK, "mcp", "--tools", "reference"], CORK_STORE=f"sqlite:{FOLDER}/reference.db")
    schemas = [
        {tool["name"]: (tool["inputSchema"].get("required"), sorted(tool["inputSchema"]["properties"])) for tool in tools}
        for tools in (server.ask("tools/list", {})["result"]["tools"] for server in (reference, corkboard))
    ]
    assert schemas[0] == schemas[1], schemas
    wrong = 0
    for number, call in enumerate(CALLS):
        params = {"name": call["tool"], "arguments": call["input"]}
        expected, found = (comparable(server.ask("tools/call", params)) for server in (reference, corkboard))
        if expected != found:
            wrong += 1
            print(f"call {number}: {json.dumps(call)}\n  reference: {json.dumps(expected)}\n  corkboard: {json.dumps(found)}")
    reference.end()
    corkboard.end()
    if wrong:
        sys.exit(f"{wrong} of {len(CALLS)} answers differ")
    print(f"reference memory server: {len(CALLS)} equal answers")


main()
