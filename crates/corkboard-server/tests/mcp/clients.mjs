// Uses `cork mcp` over stdio and `cork serve` over HTTP through the official TypeScript clients: version 1, which most
// assistants contain, and version 2, in both lifecycles.
//
// Usage: clients.mjs CORK URL FOLDER. The server at URL serves FOLDER/cork.db; CORK_TOKEN is its admin's token.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";

import * as v2 from "@modelcontextprotocol/client";
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as Http1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [cork, url, folder] = process.argv.slice(2);
const token = process.env.CORK_TOKEN;
const database = `${folder}/cork.db`;
// The tests make mistakes on purpose; the log need not report them.
const env = { HOME: folder, CORK_STORE: `sqlite:${database}`, CORK_LOG: "error", PATH: process.env.PATH };
const modern = "2026-07-28";
// Longer than anything here takes.
const options = { timeout: 120_000 };
const info = { name: "corkboard-tests", version: "1" };

/** Runs the command line: another process that changes the store. Returns its output. */
const run = (...words) => execFileSync(cork, words, { env, cwd: folder, encoding: "utf8" }).trim();

/** The clients: how to connect one, and how to hear of changed resources. */
const clients = {
  "version 1, 2025-11-25": {
    client: () => new Client1(info),
    stdio: Stdio1,
    http: Http1,
    onUpdate: (client, heard) => client.setNotificationHandler(ResourceUpdatedNotificationSchema, heard),
  },
  "version 2, 2025-11-25": {
    client: () => new v2.Client(info),
    stdio: Stdio2,
    http: v2.StreamableHTTPClientTransport,
    onUpdate: (client, heard) => client.setNotificationHandler("notifications/resources/updated", heard),
  },
  "version 2, 2026-07-28": {
    client: () => new v2.Client(info, { versionNegotiation: { mode: "auto" } }),
    stdio: Stdio2,
    http: v2.StreamableHTTPClientTransport,
    onUpdate: (client, heard) => client.setNotificationHandler("notifications/resources/updated", heard),
  },
};

async function connect(kind, transport, query) {
  const client = clients[kind].client();
  if (transport === "stdio") {
    const args = ["--agent", query.agent, ...(query.board ? ["--board", query.board] : []), "mcp"];
    if (query.tools) args.push("--tools", query.tools);
    await client.connect(new clients[kind].stdio({ command: cork, args, env, cwd: folder }));
  } else {
    const address = new URL(`${url}/mcp?${new URLSearchParams(query)}`);
    const requestInit = { headers: { Authorization: `Bearer ${token}` } };
    await client.connect(new clients[kind].http(address, { requestInit }));
  }
  return client;
}

const text = (result) => result.content.map((part) => part.text).join("");

/** Fails after a while instead of waiting forever. */
function soon(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("timed out")), options.timeout);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function calls(client) {
  const { tools } = await client.listTools();
  assert(tools.some(({ name }) => name === "write_memory"));
  const written = await client.callTool({ name: "write_memory", arguments: { key: "colour", content: "Ada likes ultramarine" } });
  assert(!written.isError, text(written));
  const found = await client.callTool({ name: "search_memory", arguments: { query: "ultramarine" } });
  assert(text(found).includes("colour"), text(found));
  const wrong = await client.callTool({ name: "write_memory", arguments: { key: "colour" } });
  assert(wrong.isError && text(wrong).includes("content"), text(wrong));
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), (error) => error.code === -32602);
}

/** Subscribes in the way of the client's lifecycle. Gives a function that waits for the next change. */
async function watch(kind, client, uri) {
  const waiting = [];
  const heard = [];
  clients[kind].onUpdate(client, (notification) => {
    const next = waiting.shift();
    next ? next(notification.params.uri) : heard.push(notification.params.uri);
  });
  const end = kind.endsWith(modern)
    ? ((subscription) => () => subscription.close())(await client.listen({ resourceSubscriptions: [uri] }))
    : (await client.subscribeResource({ uri }), () => client.unsubscribeResource({ uri }));
  const changed = async () => {
    const next = heard.length > 0 ? heard.shift() : await soon(new Promise((resolve) => waiting.push(resolve)));
    assert.equal(next, uri);
  };
  return { changed, end };
}

async function resources(kind, client, agent) {
  const uri = `cork://agents/${agent}/handoff`;
  const listed = (await client.listResources()).resources.map((resource) => resource.uri);
  assert(listed.includes(uri), listed);
  assert((await client.listResourceTemplates()).resourceTemplates.length >= 7);
  await assert.rejects(client.readResource({ uri: "cork://nothing" }), (error) => [-32602, -32002].includes(error.code));
  const { changed, end } = await watch(kind, client, uri);
  for (const note of ["half done", "all done"]) {
    run("--agent", agent, "handoff", "write", note);
    await changed();
    while (!(await client.readResource({ uri })).contents[0].text.includes(note)) await changed();
  }
  await end();
}

async function prompts(client, agent) {
  const names = (await client.listPrompts()).prompts.map(({ name }) => name);
  assert(["resume_session", "hand_over", "update_notebook", "work_on_task"].every((name) => names.includes(name)), names);
  const resumed = await client.getPrompt({ name: "resume_session" });
  assert(resumed.messages[0].content.text.includes("all done"), resumed);
  const ref = { type: "ref/resource", uri: "cork://agents/{agent}/handoff" };
  const completed = await client.complete({ ref, argument: { name: "agent", value: agent.slice(0, -1) } });
  assert(completed.completion.values.includes(agent), completed);
}

/** A write that has to wait: it reports its progress, and can be cancelled. */
async function slowCalls(client) {
  const call = { name: "write_memory", arguments: { key: "slow", content: "written at last" } };
  const begin = () => {
    const stop = new AbortController();
    let progress;
    const reported = new Promise((resolve) => (progress = resolve));
    const request = { ...options, signal: stop.signal, onprogress: progress };
    // Version 1 takes the schema of the answer before the options.
    const answer = client instanceof Client1 ? client.callTool(call, undefined, request) : client.callTool(call, request);
    return { stop, reported, answer };
  };
  const locked = async (work) => {
    const connection = new DatabaseSync(database);
    connection.exec("PRAGMA busy_timeout = 120000; BEGIN IMMEDIATE");
    await work().finally(() => {
      connection.exec("ROLLBACK");
      connection.close();
    });
  };
  let slow;
  await locked(async () => {
    slow = begin();
    await soon(slow.reported);
  });
  assert(!(await soon(slow.answer)).isError);
  await locked(async () => {
    slow = begin();
    const refused = assert.rejects(slow.answer);
    await soon(slow.reported);
    slow.stop.abort();
    await refused;
    const read = await soon(client.callTool({ name: "read_memory", arguments: { key: "colour" } }));
    assert(text(read).includes("ultramarine"), text(read));
  });
}

async function twoClients(kind, transport, agent) {
  const board = run("board", "create", "Shared", "--goal", "Two clients see each other's changes");
  const uri = `cork://boards/${board}`;
  const writer = await connect(kind, transport, { agent: `${agent}-planner`, tools: "orchestrator", board });
  const reader = await connect(kind, transport, { agent, board });
  const { changed, end } = await watch(kind, reader, uri);
  const added = await writer.callTool({ name: "add_tasks", arguments: { tasks: [{ title: "Paint the fence" }] } });
  assert(!added.isError, text(added));
  await changed();
  await end();
  const claimed = await reader.callTool({ name: "claim_task", arguments: {} });
  assert(text(claimed).includes("Paint the fence"), text(claimed));
  await writer.close();
  await reader.close();
}

for (const transport of ["stdio", "http"]) {
  for (const kind of Object.keys(clients)) {
    const agent = `ts-${transport}-${kind.replaceAll(/[^0-9a-z]+/g, "-")}`;
    const client = await connect(kind, transport, { agent });
    assert.equal(client.getServerVersion().name, "corkboard");
    if (client instanceof v2.Client) assert(kind.endsWith(client.getNegotiatedProtocolVersion()));
    await calls(client);
    await resources(kind, client, agent);
    await prompts(client, agent);
    await slowCalls(client);
    await client.close();
    await twoClients(kind, transport, agent);
    console.log(`TypeScript client, ${transport}, ${kind}: ok`);
  }
}
