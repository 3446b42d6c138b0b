// What the tests share: the server's management API, and ways to wait without guessing.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

export const adminKey = required("LINESHAFT_ADMIN_KEY");

/** How long anything may take before a test gives up on it. */
export const patience = 60_000;

export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start these tests with tests/providers/run`);
  return value;
}

/** A name that nothing else has. */
export const unique = (word) => `${word} ${randomUUID()}`;

/** The management API of the server at an address. */
export class Server {
  constructor(address) {
    this.address = address;
  }

  /** Calls a route; body may be a value or JSON text. Anything but success is an error. */
  async call(method, path, body) {
    const response = await fetch(`${this.address}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
      body: body === undefined || typeof body === "string" ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async factory(name) {
    return new Factory(this, (await this.call("POST", "/factory", { name: unique(name) })).uid);
  }

  /** All rows of a list, page by page. */
  async all(path, plural) {
    const rows = [];
    for (let cursor = ""; ; ) {
      const page = await this.call("GET", `${path}${path.includes("?") ? "&" : "?"}limit=500${cursor}`);
      rows.push(...page[plural]);
      if (!page.page_info.has_next_page) return rows;
      cursor = `&cursor=${encodeURIComponent(page.page_info.next_cursor)}`;
    }
  }

  runsOf(webhook) {
    return this.all(`/agent/runs?webhook_id=${webhook.uid}&sort_by=created_at`, "runs");
  }

  /** Follows a run to its end; the server closes the stream then. */
  async ended(runID) {
    const response = await fetch(`${this.address}/api/v1/agent/runs/${runID}/events`, {
      headers: { authorization: `Bearer ${adminKey}`, accept: "text/event-stream" },
      signal: AbortSignal.timeout(patience),
    });
    await response.text();
    return this.call("GET", `/agent/runs/${runID}`);
  }

  /** The bytes that a run got as event-payload.json; its prompt must be keepPayload. */
  async payloadOf(runID) {
    const run = await this.ended(runID);
    assert.equal(run.state, "SUCCEEDED", JSON.stringify(run.status_message));
    const file = run.artifacts.find(({ data }) => data.filename === "event-payload.json");
    assert.ok(file, `the run has no artifact event-payload.json: ${JSON.stringify(run.artifacts)}`);
    const response = await fetch(`${this.address}/api/v1/agent/artifacts/${file.data.artifact_uid}/download`, {
      headers: { authorization: `Bearer ${adminKey}` },
      signal: AbortSignal.timeout(patience),
    });
    assert.equal(response.status, 200);
    return Buffer.from(await response.arrayBuffer());
  }
}

/** A factory on that server. */
class Factory {
  constructor(server, uid) {
    this.server = server;
    this.path = `/factory/${uid}`;
  }

  webhook(settings) {
    return this.server.call("POST", `${this.path}/webhooks`, settings);
  }

  rotate(webhook, settings) {
    return this.server.call("POST", `${this.path}/webhooks/${webhook.uid}/rotate`, settings);
  }

  /** An automation for one webhook; payload is a filter as JSON text. */
  automation(name, prompt, webhook, payload) {
    const filter = `{"webhook_ids":["${webhook.uid}"]${payload ? `,"payload":${payload}` : ""}}`;
    return this.server.call(
      "POST",
      `${this.path}/automations`,
      `{"name":${JSON.stringify(name)},"prompt":${JSON.stringify(prompt)},"triggers":[{"provider":"webhook","event":"received","filter":${filter}}]}`,
    );
  }
}

/** The prompt of a run that hands on the payload as it found it. */
export const keepPayload = ["Keep what was sent.", "```sh", 'cp event-payload.json "$LINESHAFT_ARTIFACTS"/', "```"].join("\n");

/** Does work for every item, a few at a time; the results are in the items' order. */
export async function together(count, items, work) {
  const results = [];
  let next = 0;
  const hand = async () => {
    while (next < items.length) {
      const mine = next++;
      results[mine] = await work(items[mine], mine);
    }
  };
  await Promise.all(Array.from({ length: count }, hand));
  return results;
}
