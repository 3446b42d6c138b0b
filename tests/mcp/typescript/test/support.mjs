// What the tests share: the two generations of the official client behind one face, and
// a world to call the tools on.
import { randomUUID } from "node:crypto";
import * as current from "@modelcontextprotocol/client";
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

export const server = required("LINESHAFT_MCP_URL");
export const adminKey = required("LINESHAFT_MCP_KEY");
export const endpoint = new URL("/api/v1/mcp", server);

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start these tests with tests/mcp/run`);
  return value;
}

export const unique = (word) => `${word}-${randomUUID()}`;

/** A prompt that the shell harness executes. */
export const shell = (...lines) => ["Please run this:", "```sh", ...lines, "```"].join("\n");

/** The clients of the registry: one for the protocol of today, one for those before. */
export const generations = [
  { name: "@modelcontextprotocol/client, 2026-07-28", version: "2026-07-28", modern: true },
  { name: "@modelcontextprotocol/client, handshake", version: "2025-11-25" },
  { name: "@modelcontextprotocol/sdk", version: "2025-11-25", first: true },
];

/** A connected client with nothing set but the address and the key. */
export async function connect({ first, modern }, key = adminKey) {
  const info = { name: "lineshaft-tests", version: "1.0.0" };
  const options = { requestInit: { headers: { authorization: `Bearer ${key}` } } };
  const client = first ? new FirstClient(info) : new current.Client(info, modern ? { versionNegotiation: { mode: "auto" } } : undefined);
  const transport = first ? new FirstTransport(endpoint, options) : new current.StreamableHTTPClientTransport(endpoint, options);
  await client.connect(transport);
  return {
    client,
    list: async () => (await client.listTools()).tools,
    call: (name, args = {}, settings) => (first ? client.callTool({ name, arguments: args }, undefined, settings) : client.callTool({ name, arguments: args }, settings)),
    close: () => client.close(),
  };
}

/** A call of the API beside the tools. */
export async function api(method, path, body, key = adminKey) {
  const response = await fetch(`${server}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return text && JSON.parse(text);
}

export const keyFor = async (role, more = {}) => (await api("POST", "/apikeys", { name: unique(role), role, ...more })).key;

/** A run that stays queued: its worker never comes. */
export const parked = async () =>
  (await api("POST", "/agent/runs", { prompt: "wait", config: { name: "parked", worker_host: "never-connected" } })).run_id;

/** A factory whose webhook has had a delivery. */
export async function world() {
  const factory = await api("POST", "/factory", { name: unique("Shop"), alias: unique("shop") });
  const webhook = await api("POST", `/factory/${factory.uid}/webhooks`, { name: "ci" });
  const automation = await api("POST", `/factory/${factory.uid}/automations`, {
    name: "fix",
    prompt: shell("echo fixed"),
    triggers: [{ provider: "webhook", event: "received", filter: { webhooks: ["ci"], payload: { status: ["broken"] } } }],
  });
  const sent = await fetch(webhook.ingress_url, {
    method: "POST",
    headers: { authorization: `Bearer ${webhook.secret}`, "content-type": "application/json" },
    body: JSON.stringify({ status: "broken", number: 1 }),
  });
  if (sent.status !== 202) throw new Error(`delivery: ${sent.status} ${await sent.text()}`);
  return { factory, webhook, automation, delivery: (await sent.json()).delivery_id };
}
