"""Uses `cork mcp` over stdio and `cork serve` over HTTP through the official Python client, in both lifecycles.

Usage: clients.py CORK URL FOLDER. The server at URL serves FOLDER/cork.db; CORK_TOKEN is its admin's token.
"""

import asyncio
import logging
import os
import sqlite3
import subprocess
import sys
from contextlib import asynccontextmanager

import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

CORK, URL, FOLDER = sys.argv[1:]
TOKEN = os.environ.pop("CORK_TOKEN")
DATABASE = f"{FOLDER}/cork.db"
STORE = f"sqlite:{DATABASE}"
# The tests make mistakes on purpose; the log need not report them.
ENVIRONMENT = {"HOME": FOLDER, "CORK_STORE": STORE, "CORK_LOG": "error", "PATH": os.environ["PATH"]}
logging.getLogger("mcp").setLevel(logging.ERROR)
# Longer than anything here takes.
DEADLINE = 120
MODERN = "2026-07-28"
MEMORY_TOOLS = {"memory_read", "memory_write", "search_memory", "read_memory", "write_memory", "write_session_handoff"}


async def cork(*arguments):
    """Runs the command line: another process that changes the store. Returns its output."""
    process = await asyncio.create_subprocess_exec(
        CORK, *arguments, cwd=FOLDER, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = await process.communicate()
    assert process.returncode == 0, (arguments, out, err)
    return out.decode().strip()


@asynccontextmanager
async def connected(transport, lifecycle, agent, tools="", board=""):
    """A client and the queue of the changes that its session reports."""
    changes = asyncio.Queue()

    async def changed(message):
        if isinstance(message, (types.ResourceUpdatedNotification, types.ResourceListChangedNotification)):
            changes.put_nowait(message)

    options = {"mode": lifecycle, "message_handler": changed, "read_timeout_seconds": DEADLINE, "cache": None}
    if transport == "stdio":
        arguments = ["--agent", agent] + (["--board", board] if board else []) + ["mcp"]
        arguments += ["--tools", tools] if tools else []
        server = StdioServerParameters(command=CORK, args=arguments, env=ENVIRONMENT, cwd=FOLDER)
        async with Client(server, **options) as client:
            yield client, changes
    else:
        query = "&".join(f"{key}={value}" for key, value in (("agent", agent), ("tools", tools), ("board", board)) if value)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=DEADLINE) as http:
            server = streamable_http_client(f"{URL}/mcp?{query}", http_client=http)
            async with Client(server, **options) as client:
                yield client, changes


@asynccontextmanager
async def watching(client, changes, uri):
    """Subscribes to a resource in the lifecycle's way. Gives a function that waits for its next change."""
    if client.protocol_version == MODERN:
        async with client.listen(resource_subscriptions=[uri], resources_list_changed=True) as events:
            assert events.honored.resource_subscriptions == [uri], events.honored

            async def changed():
                async for event in events:
                    if isinstance(event, ResourceUpdated):
                        assert event.uri == uri, event
                        return
                raise AssertionError("the subscription ended")

            async def listed():
                async for event in events:
                    if isinstance(event, ResourcesListChanged):
                        return
                raise AssertionError("the subscription ended")

            yield changed, listed
    else:
        await client.subscribe_resource(uri)

        async def changed():
            while not isinstance(message := await changes.get(), types.ResourceUpdatedNotification):
                pass
            assert str(message.params.uri) == uri, message

        yield changed, None
        await client.unsubscribe_resource(uri)


async def soon(awaitable):
    return await asyncio.wait_for(awaitable, DEADLINE)


async def until(changed, client, uri, part):
    """Reads a resource after each change until it contains this text."""
    await soon(changed())
    while part not in (await client.read_resource(uri)).contents[0].text:
        await soon(changed())


def text(result):
    return "".join(part.text for part in result.content)


async def fails(awaitable, *codes):
    try:
        await awaitable
    except MCPError as error:
        assert error.error.code in codes, error.error
        return error.error.message
    raise AssertionError("expected an error")


async def calls(client):
    listed = (await client.list_tools()).tools
    assert MEMORY_TOOLS <= {tool.name for tool in listed}, listed
    for tool in listed:
        hints = tool.annotations
        flags = (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint, hints.open_world_hint)
        assert None not in flags and tool.description and tool.title, tool
        assert tool.input_schema["additionalProperties"] is False, tool
    written = await client.call_tool("write_memory", {"key": "colour", "content": "Ada likes ultramarine"})
    assert not written.is_error, written
    found = await client.call_tool("search_memory", {"query": "ultramarine"})
    assert "ultramarine" in text(found) and "colour" in text(found), found
    # A model reads these errors, with a correct example.
    wrong = await client.call_tool("write_memory", {"key": "colour"})
    assert wrong.is_error and "content" in text(wrong), wrong
    missing = await client.call_tool("read_memory", {"key": "no-such-key"})
    assert not missing.is_error and text(missing) == "not found: no-such-key", missing
    assert "no_such_tool" in await fails(client.call_tool("no_such_tool", {}), types.INVALID_PARAMS)


async def resources(client, changes, agent):
    uri = f"cork://agents/{agent}/handoff"
    assert uri in [str(resource.uri) for resource in (await client.list_resources()).resources]
    templates = [template.uri_template for template in (await client.list_resource_templates()).resource_templates]
    assert "cork://boards/{board}" in templates, templates
    for wrong in ("cork://nothing", "test://nothing"):
        is_modern = client.protocol_version == MODERN
        await fails(client.read_resource(wrong), types.INVALID_PARAMS if is_modern else -32002)
    async with watching(client, changes, uri) as (changed, listed):
        for note in ("half done", "all done"):
            await cork("--agent", agent, "handoff", "write", note)
            await until(changed, client, uri, note)
        if listed:
            await cork("board", "create", f"Board of {agent}")
            await soon(listed())


async def prompts(client, agent):
    names = {prompt.name for prompt in (await client.list_prompts()).prompts}
    assert {"resume_session", "hand_over", "update_notebook", "work_on_task"} <= names, names
    resumed = await client.get_prompt("resume_session")
    assert "all done" in resumed.messages[0].content.text, resumed
    await fails(client.get_prompt("no_such_prompt"), types.INVALID_PARAMS)
    template = types.ResourceTemplateReference(type="ref/resource", uri="cork://agents/{agent}/handoff")
    completed = await client.complete(template, {"name": "agent", "value": agent[:-1]})
    assert agent in completed.completion.values, completed


@asynccontextmanager
async def writing():
    """Holds the database's write lock, so that every write waits."""
    database = sqlite3.connect(DATABASE, timeout=DEADLINE, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        database.execute("ROLLBACK")
        database.close()


async def slow_calls(client):
    reported = asyncio.Event()

    async def progress(done, total, message):
        assert done > 0, (done, total, message)
        reported.set()

    write = {"key": "slow", "content": "written at last"}
    async with writing():
        call = asyncio.create_task(client.call_tool("write_memory", write, progress_callback=progress))
        await soon(reported.wait())
        assert not call.done(), call
    assert not (await soon(call)).is_error, call.result()
    reported.clear()
    async with writing():
        call = asyncio.create_task(client.call_tool("write_memory", write, progress_callback=progress))
        await soon(reported.wait())
        call.cancel()
        # The connection still serves, while the cancelled call's write waits.
        assert "ultramarine" in text(await soon(client.call_tool("read_memory", {"key": "colour"})))


async def two_clients(transport, lifecycle, agent):
    board = await cork("board", "create", "Shared", "--goal", "Two clients see each other's changes")
    uri = f"cork://boards/{board}"
    planner = connected(transport, lifecycle, f"{agent}-planner", "orchestrator", board)
    async with planner as (writer, _), connected(transport, lifecycle, agent, "", board) as (reader, changes):
        assert "claim_task" in {tool.name for tool in (await reader.list_tools()).tools}
        async with watching(reader, changes, uri) as (changed, _):
            added = await writer.call_tool("add_tasks", {"tasks": [{"title": "Paint the fence"}]})
            assert not added.is_error, added
            await until(changed, reader, uri, "Paint the fence")
        claimed = await reader.call_tool("claim_task", {})
        assert "Paint the fence" in text(claimed), claimed
        completed = await reader.call_tool("complete_task", {"task": "T-1", "summary": "Painted"})
        assert not completed.is_error, completed


async def main():
    for transport in ("stdio", "http"):
        for lifecycle in ("legacy", "auto"):
            agent = f"python-{transport}-{lifecycle}"
            async with connected(transport, lifecycle, agent) as (client, changes):
                expected = MODERN if lifecycle == "auto" else "2025-11-25"
                assert client.protocol_version == expected, client.protocol_version
                assert client.server_info.name == "corkboard" and "memory" in client.instructions
                await calls(client)
                await resources(client, changes, agent)
                await prompts(client, agent)
                await slow_calls(client)
            await two_clients(transport, lifecycle, agent)
            print(f"Python client, {transport}, {expected}: ok")


asyncio.run(main())
