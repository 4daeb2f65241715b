// Records the answers of the reference memory server to reference_calls.json:
//   npm install @modelcontextprotocol/server-memory@2026.8.31
//   node record_reference.mjs node_modules/@modelcontextprotocol/server-memory/dist/index.js
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const beside = (name) => new URL(name, import.meta.url);
const calls = JSON.parse(readFileSync(beside("reference_calls.json"), "utf8"));
const folder = mkdtempSync(join(tmpdir(), "reference-"));
const env = { ...process.env, MEMORY_FILE_PATH: join(folder, "memory.jsonl") };
const server = spawn("node", [process.argv[2]], { env, stdio: ["pipe", "pipe", "ignore"] });
const waiting = new Map();
createInterface({ input: server.stdout }).on("line", (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message.result);
});
const write = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
let last = 0;
const ask = (method, params) => new Promise((resolve) => {
  waiting.set(++last, resolve);
  write({ id: last, method, params });
});

const client = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "record", version: "1" } };
await ask("initialize", client);
write({ method: "notifications/initialized" });
const { tools } = await ask("tools/list", {});
const answers = [];
for (const { tool, input } of calls) {
  const { content, isError = false } = await ask("tools/call", { name: tool, arguments: input });
  answers.push({ text: content[0].text, is_error: isError });
}
const lines = (items) => `[\n${items.map((item) => `    ${JSON.stringify(item)}`).join(",\n")}\n  ]`;
const recorded = `{\n  "tools": ${lines(tools)},\n  "answers": ${lines(answers)}\n}\n`;
writeFileSync(beside("reference_answers.json"), recorded);
server.kill();
rmSync(folder, { recursive: true });
