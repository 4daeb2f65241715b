// Twelve operations through a client that openapi-fetch and openapi-typescript make. `tsc --strict` checks it.
import createClient from "openapi-fetch";
import type { components, paths } from "./corkboard.js";

type Problem = components["schemas"]["Problem"];
type ProblemCode = components["schemas"]["ProblemCode"];

const client = createClient<paths>({ baseUrl: "http://127.0.0.1:7117", headers: { Authorization: "Bearer …" } });

/** The body of a response, or an error with the server's code. */
async function body<T>(answer: Promise<{ data?: T; error?: Problem }>): Promise<T> {
  const { data, error } = await answer;
  if (data === undefined) throw new Error(error ? `${error.code}: ${error.detail}` : "no body");
  return data;
}

export async function work(): Promise<string[]> {
  const agent = "ada";
  await body(client.PUT("/v1/agents/{agent}/entries/{key}", { params: { path: { agent, key: "a/b" } }, body: { value: 1 } }));
  const entry = await body(client.GET("/v1/agents/{agent}/entries/{key}", { params: { path: { agent, key: "a/b" } } }));
  await body(client.POST("/v1/agents/{agent}/notes", { params: { path: { agent } }, body: { text: `version ${entry.version}` } }));
  const { id: board } = await body(client.POST("/v1/boards", { body: { name: "Release" } }));
  const path = { board };
  await body(client.POST("/v1/boards/{board}/tasks", { params: { path }, body: { title: "Write it", needs_review: true } }));
  const claim = await body(client.POST("/v1/boards/{board}/tasks/claim", { params: { path }, body: {} }));
  if (!claim.task) return [];
  const task = { board, task: claim.task };
  await body(client.POST("/v1/boards/{board}/tasks/{task}/complete", { params: { path: task }, body: { summary: "done" } }));
  await body(client.POST("/v1/boards/{board}/tasks/{task}/review", { params: { path: task }, body: { verdict: "approved" } }));
  type Task = components["schemas"]["TaskDocument"];
  const tasks: Task[] = [];
  let next: string | null | undefined;
  do {
    const query = { limit: 2, cursor: next ?? undefined };
    const page = await body(client.GET("/v1/boards/{board}/tasks", { params: { path, query } }));
    tasks.push(...page.items);
    next = page.next;
  } while (next !== null);
  const first: Task = await body(client.GET("/v1/boards/{board}/tasks/{task}", { params: { path: task } }));
  const events = await body(client.GET("/v1/boards/{board}/events", { params: { path, query: { limit: 5 } } }));
  if (typeof events !== "string" && events.next !== null) {
    const query = { limit: 5, cursor: events.next };
    await body(client.GET("/v1/boards/{board}/events", { params: { path, query } }));
  }
  const progress = await body(client.GET("/v1/boards/{board}/status", { params: { path } }));
  const { hits } = await body(client.GET("/v1/agents/{agent}/search", { params: { path: { agent }, query: { q: "version" } } }));
  return [progress.status, first.title, ...tasks.map((each) => each.created_by), ...hits.map((hit) => hit.snippet)];
}

/** The codes are a closed list: another name does not compile. */
export const LOST_RACES: ProblemCode[] = ["conflict", "rev_conflict", "fenced"];
