#!/usr/bin/env python3
"""Measures `cork mcp` and the reference memory server in the same run, and prints a Markdown table.

`make mcp` installs the reference server. CORK must be a release build. With --reference, Corkboard uses the reference
server's tools too.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import tempfile
import time

STARTS = 31
# A write, a read and a search are each measured so often, at each size.
CALLS = 200
SIZES = (100, 1_000, 5_000)
CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
# Texts of about 80 bytes from words that are used again and again, each with one word of its own.
WORDS = "release deadline fence paint colour customer migration index token board worker review search note".split()


class Server:
    def __init__(self, command, folder, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **variables}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.asked = 0
        began = time.perf_counter()
        self.process = subprocess.Popen(command, cwd=folder, env=environment, **pipes)
        self.ask("initialize", CLIENT)
        self.started_after = time.perf_counter() - began
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while (answer := json.loads(self.process.stdout.readline())).get("id") != self.asked:
            pass
        return answer["result"]

    def call(self, tool, arguments):
        """Returns the seconds that the call took, and its text."""
        began = time.perf_counter()
        result = self.ask("tools/call", {"name": tool, "arguments": arguments})
        took = time.perf_counter() - began
        text = "".join(part["text"] for part in result["content"])
        assert not result.get("isError"), text
        return took, text

    def resident(self):
        """Resident memory in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def end(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class Corkboard:
    def __init__(self, cork, folder):
        self.command, self.folder = [cork, "--agent", "bench", "mcp"], folder
        self.variables = {"CORK_STORE": f"sqlite:{folder}/cork.db"}

    def fill(self, server, entries):
        for key, content in entries:
            server.call("write_memory", {"key": key, "content": content})

    write = staticmethod(lambda server, key, text: server.call("write_memory", {"key": key, "content": text}))
    read = staticmethod(lambda server, key: server.call("read_memory", {"key": key}))
    search = staticmethod(lambda server, word: server.call("search_memory", {"query": word}))


class Reference:
    def __init__(self, packages, folder):
        self.command = ["node", f"{packages}/@modelcontextprotocol/server-memory/dist/index.js"]
        self.folder, self.variables = folder, {"MEMORY_FILE_PATH": f"{folder}/memory.jsonl"}

    def fill(self, server, entries):
        for start in range(0, len(entries), 100):
            entities = [entity(key, content) for key, content in entries[start : start + 100]]
            server.call("create_entities", {"entities": entities})

    write = staticmethod(lambda server, key, text: server.call("create_entities", {"entities": [entity(key, text)]}))
    read = staticmethod(lambda server, key: server.call("open_nodes", {"names": [key]}))
    search = staticmethod(lambda server, word: server.call("search_nodes", {"query": word}))


class SameTools(Reference):
    """Corkboard with the reference server's tools."""

    def __init__(self, cork, folder):
        self.command, self.folder = [cork, "--agent", "bench", "mcp", "--tools", "reference"], folder
        self.variables = {"CORK_STORE": f"sqlite:{folder}/cork.db"}


def entity(name, content):
    return {"name": name, "entityType": "note", "observations": [content]}


def begin(kind):
    return Server(kind.command, kind.folder, **kind.variables)


def entry(chance, number):
    words = " ".join(chance.choice(WORDS) for _ in range(10))
    return f"notes/{number}", f"{words} unique{number}end"


def milliseconds(times):
    ordered = sorted(times)
    p50, p99 = statistics.median(ordered), ordered[int(len(ordered) * 0.99)]
    return p50 * 1000, p99 * 1000


def row(what, ours, theirs, goal, unit="ms"):
    """A row whose ratio is that of the first numbers: medians."""
    show = lambda values: " / ".join(f"{value:.2f}" if value < 100 else f"{value:,.0f}" for value in values)
    print(f"| {what} | {show(ours)} {unit} | {show(theirs)} {unit} | {theirs[0] / ours[0]:.1f}× | {goal} |", flush=True)


def tokens(cork, folder, texts):
    """The tokens of texts, as `cork context` counts them: each as a handoff, without the handoff's frame."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "CORK_STORE": f"sqlite:{folder}/tokens.db"}

    def counted(text):
        for arguments in (["handoff", "write", text], ["context", "--budget", "100000", "--json"]):
            command = [cork, "--agent", "tokens", *arguments]
            ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return json.loads(ran.stdout)["sections"][0]["tokens"]

    frame = counted("a") - 1
    return sum(counted(text) - frame for text in texts)


def main():
    packages = str(pathlib.Path(__file__).resolve().parents[1] / "target/mcp/node_modules")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cork")
    parser.add_argument("--packages", default=packages, help="where npm installed @modelcontextprotocol/server-memory")
    parser.add_argument("--reference", action="store_true", help="let Corkboard use the reference server's tools too")
    options = parser.parse_args()
    cork, packages = os.path.abspath(options.cork), os.path.abspath(options.packages)
    os.environ["PATH"] = f"{packages}/.bin:{os.environ['PATH']}"
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = json.loads(pathlib.Path(f"{packages}/@modelcontextprotocol/server-memory/package.json").read_text())["version"]
    folder = pathlib.Path(tempfile.mkdtemp())
    try:
        print(f"`@modelcontextprotocol/server-memory` {version} on Node.js {node}; medians, or p50 / p99 of {CALLS} calls\n")
        print("| what | cork mcp | server-memory | ratio | goal |\n|---|---|---|---|---|", flush=True)
        ours = SameTools if options.reference else Corkboard
        kinds = ours(cork, folder), Reference(packages, folder)
        starts, resident = ([], []), ([], [])
        for _ in range(STARTS):
            for kind, started, memory in zip(kinds, starts, resident):
                server = begin(kind)
                started.append(server.started_after)
                server.ask("tools/list", {})
                memory.append(server.resident() / 1e6)
                server.end()
        row("process start to first answer", *([statistics.median(times) * 1000] for times in starts), "< 50 ms, ≥ 10×")
        row("resident memory after tools/list", *([statistics.median(sizes)] for sizes in resident), "< 20 MB", "MB")
        servers, chance, filled = [begin(kind) for kind in kinds], random.Random(17), 0
        for size in SIZES:
            new = [entry(chance, number) for number in range(filled, size)]
            for kind, server in zip(kinds, servers):
                kind.fill(server, new)
            filled = size + CALLS
            times = {what: ([], []) for what in ("write", "read", "search")}
            for number in range(size, filled):
                key, text = entry(chance, number)
                known = chance.randrange(size)
                # The same call to one and to the other, so that both see the same machine.
                for kind, server, index in zip(kinds, servers, (0, 1)):
                    times["write"][index].append(kind.write(server, key, text)[0])
                    took, found = kind.read(server, f"notes/{known}")
                    assert f"unique{known}end" in found, found
                    times["read"][index].append(took)
                    took, found = kind.search(server, f"unique{known}end")
                    assert f"notes/{known}" in found, found
                    times["search"][index].append(took)
            goal = "≥ 10×" if size == max(SIZES) else "report"
            for what, measured in times.items():
                row(f"{what} at {size:,} entries", *map(milliseconds, measured), goal)
        row("resident memory after that", *([server.resident() / 1e6] for server in servers), "report", "MB")
        theirs = [json.dumps(tool, separators=(",", ":")) for tool in servers[1].ask("tools/list", {})["tools"]]
        for server in servers:
            server.end()
        their_tokens = tokens(cork, folder, theirs)
        sets = "scratchpad,memory,notebook,worker,orchestrator,anthropic"
        for what, chosen, goal in (("the default tools", [], "< 1,000"), ("all sets but `reference`", ["--tools", sets], "< 4,500")):
            command = [cork, "--store", f"sqlite:{folder}/tokens.db", "mcp", "--check", "--json", *chosen]
            checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            row(f"tokens of {what}", [json.loads(checked.stdout)["tokens"]], [their_tokens], goal, "tokens")
    finally:
        shutil.rmtree(folder)


main()
