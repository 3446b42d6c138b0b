// What the tests share: clients, and ways to wait for a run without guessing.
import { randomUUID } from "node:crypto";
import OzAPI from "oz-agent-sdk";

export const server = required("LINESHAFT_SDK_URL");
export const limitedServer = required("LINESHAFT_SDK_LIMITED_URL");
export const adminKey = required("LINESHAFT_SDK_KEY");

/** How long anything may take before a test gives up on it. */
export const patience = 60_000;

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start these tests with tests/sdk/run`);
  return value;
}

/** The published client, with nothing changed but the address and the key. */
export function client(options = {}) {
  const { url = server, ...rest } = options;
  return new OzAPI({ baseURL: `${url}/api/v1`, apiKey: adminKey, logLevel: "off", ...rest });
}

/** A name that no other test has. */
export const unique = (word) => `${word}-${randomUUID()}`;

/** A prompt that the shell harness executes. */
export const shell = (...lines) => ["Please run this:", "```sh", ...lines, "```"].join("\n");

/** A configuration under which a run stays queued: this worker never comes. */
export const parked = (name) => ({ name, worker_host: "never-connected" });

/** Reads the run's event stream; the server closes it when the run has ended. */
export async function eventsUntilEnd(runID) {
  const response = await fetch(`${server}/api/v1/agent/runs/${runID}/events`, {
    headers: { authorization: `Bearer ${adminKey}`, accept: "text/event-stream" },
    signal: AbortSignal.timeout(patience),
  });
  const text = await response.text();
  return [...text.matchAll(/^data: (.*)$/gm)].map((match) => JSON.parse(match[1]));
}

/** The run as it is once it has ended. */
export async function ended(runID) {
  await eventsUntilEnd(runID);
  return client().agent.runs.retrieve(runID);
}

/** A key of another role, made with the client's call for undocumented routes. */
export async function keyFor(role, options = {}) {
  const made = await client(options).post("/apikeys", { body: { name: unique(role), role } });
  return made.key;
}
