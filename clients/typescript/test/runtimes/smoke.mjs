// What a runtime has to be able to do. It is run by each of them, in a project that has the
// package, and ends with a line that says so.
import { isTerminal, Lineshaft, NotFoundError } from "lineshaft";
import { verifyCallback } from "lineshaft/callbacks";
import { sign } from "lineshaft/webhooks";
import { behaveAll, scenarios } from "./behaviour.mjs";

function check(good, what) {
  if (!good) throw new Error(what);
}

async function run(client) {
  const { run_id } = await client.runs.create({ prompt: "```sh\necho hello\n```" });
  const events = [];
  for await (const event of client.runs.stream(run_id)) events.push(event);
  check(events.every((event, i) => event.sequence === i + 1), "events in order");
  check(events.some((event) => event.type === "output" && event.data.text.includes("hello")), "the output");
  check(isTerminal((await client.runs.wait(run_id)).state), "the end");
  const log = await client.runs.transcript(run_id);
  check((await log.text()).split("\n").length > 3, "the transcript");
  for await (const one of client.runs.list({ limit: 1 })) check(one.run_id, "a list");
  const error = await client.runs.get("nope").catch((error) => error);
  check(error instanceof NotFoundError && error.requestId, "an error");
}

async function signatures() {
  const secret = `whsec_${btoa("a key of at least 24 bytes")}`;
  const body = '{"type":"run.state_changed","data":{"run_id":"r1"}}';
  const headers = await sign({ scheme: "standard_webhooks", secret, body });
  check((await verifyCallback(secret, headers, body)).data.run_id === "r1", "a callback");
  const seed = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
  const discord = await sign({ scheme: "discord", secret: seed, body: "", time: new Date(0) });
  check(discord["X-Signature-Ed25519"].length === 128, "Ed25519");
}

/**
 * Deno and Bun send a GET again by themselves when a kept connection breaks. That does no harm,
 * but there are more requests than a scenario counts; so here no connection is kept for them.
 */
function unkept() {
  if ("Bun" in globalThis) return { fetch: (url, init) => fetch(url, { ...init, keepalive: false }) };
  const client = globalThis.Deno?.createHttpClient({ poolMaxIdlePerHost: 0 });
  return client ? { fetch: (url, init) => fetch(url, { ...init, client }) } : {};
}

/**
 * Bun drops what came just before a connection broke, so that a stream resumes earlier than
 * these scripts say. That each event still comes once is what the scenario of a stream cut
 * after every byte shows.
 */
const notInBun = new Set([
  "I-3 half a frame before a cut is dropped and comes again",
  "I-3 a stream that is cut resumes after the last event",
  "I-3 the stream's own retry is the least pause",
  "I-3 401 on connecting anew ends a stream after what came",
  "I-3 a connection that brings events renews the patience",
  "I-3 503 on connecting anew is waited out",
]);

const script = globalThis.process.env.LINESHAFT_SCRIPT_URL;
await run(new Lineshaft());
await signatures();
const names = (await scenarios(script)).filter((name) => !("Bun" in globalThis && notInBun.has(name)));
const unsafe = names.filter((name) => / (POST|create|rerun|follow-up|cancel|delete|patch|factory's run) /.test(name));
check(unsafe.length > 10, "scenarios of what must not be repeated");
const wrong = { ...(await behaveAll(script, names, unkept())), ...(await behaveAll(script, unsafe)) };
for (const [name, problem] of Object.entries(wrong)) console.log(`${name}\n${problem}`);
console.log(`did ${names.length} scenarios, ${Object.keys(wrong).length} wrong`);
globalThis.process.exit(0); // kept connections would hold some runtimes for seconds
