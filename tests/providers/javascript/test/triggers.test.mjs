// Every payload that GitHub publishes, signed as GitHub signs and sent with its event,
// fires exactly the triggers that a second, naive reading of the documentation expects.
// The server under test has no worker: the runs stay queued.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { sign } from "@octokit/webhooks-methods";
import { fires, names } from "../events.mjs";
import { Server, required, together } from "./support.mjs";

const server = new Server(required("LINESHAFT_PROVIDERS_IDLE_URL"));
const sent = createRequire(import.meta.url)("@octokit/webhooks-examples").flatMap(({ name, examples }) => examples.map((body) => ({ event: name, body })));

// One trigger for each event that occurs, and for each kind of filter at least one that
// lets some through and keeps others.
const plain = [...new Set(sent.flatMap(({ event, body }) => names(event, body)))].map((event) => ({ event }));
const filtered = [
  { event: "issue_*", filter: { repos: ["codertocat/hello-world"] } },
  { event: "issue_*", filter: { repos: { not_in: ["CODERTOCAT/*"] } } },
  { event: "workflow_run_*", filter: { repos: ["octo-org/*"] } },
  { event: "issue_*", filter: { labels: ["BUG"] } },
  { event: "issue_*", filter: { labels: { not_in: ["bug"] } } },
  { event: "pull_request_*", filter: { labels: { in: ["bug", "other"], not_in: ["wip"] } } },
  { event: "pull_request_review_*", filter: { labels: ["bug"] } },
  { event: "issue_comment_created", filter: { labels: ["bug"], authors: ["codertocat"] } },
  { event: "discussion_labeled", filter: { labels: ["bug"] } },
  { event: "discussion_*", filter: { labels: ["bug"] } },
  { event: "issue_*", filter: { authors: ["octo-org"] } },
  { event: "issue_*", filter: { authors: { not_in: ["octo-org"] } } },
  { event: "pull_request_review_submitted", filter: { authors: ["Codertocat"] } },
  { event: "release_published", filter: { authors: { not_in: ["Codertocat"] } } },
  { event: "push", filter: { authors: ["Codertocat"] } },
  { event: "workflow_run_completed", filter: { authors: ["Codertocat"] } },
  { event: "push", filter: { branches: ["master"] } },
  { event: "push", filter: { branches: { not_in: ["master"] } } },
  { event: "pull_request_*", filter: { branches: ["chang*"] } },
  { event: "check_suite_*", filter: { branches: ["m*"] } },
  { event: "check_run_*", filter: { branches: { not_in: ["changes"] } } },
  { event: "workflow_job_*", filter: { branches: ["renovate/**"] } },
  { event: "status", filter: { branches: ["gh-pages"] } },
  { event: "code_scanning_alert_*", filter: { branches: ["ma*"] } },
  { event: "create", filter: { branches: ["**"] } },
  { event: "pull_request_*", filter: { base_branches: ["master"] } },
  { event: "pull_request_*", filter: { base_branches: { not_in: ["master"] } } },
  { event: "pull_request_review_comment_*", filter: { base_branches: ["main"] } },
  { event: "push", filter: { paths: ["README.md"] } },
  { event: "push", filter: { paths: ["src/**"] } },
  { event: "push", filter: { paths: { not_in: ["*.md"] } } },
  { event: "check_suite_completed", filter: { conclusions: ["success"] } },
  { event: "check_suite_completed", filter: { conclusions: ["failure"] } },
  { event: "check_run_completed", filter: { conclusions: ["failure", "neutral"] } },
  { event: "workflow_run_completed", filter: { conclusions: { not_in: ["success"] } } },
  { event: "workflow_job_completed", filter: { conclusions: ["failure"] } },
  { event: "status", filter: { conclusions: ["success"], branches: ["changes"] } },
];
const triggers = [...plain, ...filtered].map((trigger, i) => ({ ...trigger, name: `${String(i).padStart(3, "0")} ${trigger.event.replace("*", "any")}` }));
const expected = sent.map(({ event, body }) => triggers.filter((trigger) => fires(trigger, event, body)).map(({ name }) => name));

let factory, webhook, ids;

before(async () => {
  const secret = "the secret that GitHub was told";
  factory = await server.factory("triggers");
  webhook = await factory.webhook({ name: "github", auth_mode: "signature", signature_scheme: "github", secret, rate_limit: 0 });
  await together(8, triggers, ({ name, event, filter }) =>
    server.call("POST", `${factory.path}/automations`, { name, prompt: "Look at it.", triggers: [{ provider: "github", event, filter }] }),
  );
  ids = await together(8, sent, async ({ event, body }, i) => {
    const text = JSON.stringify(body);
    const response = await fetch(webhook.ingress_url, {
      method: "POST",
      headers: { "x-hub-signature-256": await sign(secret, text), "x-github-event": event, "x-github-delivery": `payload ${i}`, "content-type": "application/json" },
      body: text,
    });
    assert.equal(response.status, 202, await response.clone().text());
    return (await response.json()).delivery_id;
  });
});

test("there are 329 payloads, and every kind of filter lets some through and keeps others", () => {
  assert.equal(sent.length, 329);
  assert.equal(new Set(ids).size, sent.length);
  for (const kind of ["repos", "labels", "authors", "branches", "base_branches", "paths", "conclusions"]) {
    const mine = triggers.filter(({ filter }) => filter && kind in filter);
    const hits = mine.map((trigger) => sent.filter(({ event, body }) => fires(trigger, event, body)).length);
    const asked = mine.map(({ event }) => sent.filter((one) => names(one.event, one.body).includes(event)).length);
    assert.ok(hits.some((n) => n > 0), `${kind} lets nothing through`);
    assert.ok(hits.some((n, i) => n < asked[i]), `${kind} keeps nothing`);
  }
});

test("the runs are those that the naive table expects", async () => {
  const automations = new Map((await server.all(`${factory.path}/automations`, "automations")).map(({ uid, name }) => [uid, name]));
  const started = new Map(ids.map((id) => [id, []]));
  for (const { metadata, source } of await server.runsOf(webhook)) {
    assert.equal(source, "GITHUB_WEBHOOK");
    started.get(metadata.delivery_id).push(automations.get(metadata.automation_id));
  }
  const shown = ({ event, body }) => `${event} ${body.action ?? ""}`;
  assert.deepEqual(
    sent.map((one, i) => [shown(one), started.get(ids[i]).toSorted()]),
    sent.map((one, i) => [shown(one), expected[i].toSorted()]),
  );
});

test("the log has the event and counts the same", async () => {
  const log = new Map((await server.all(`${factory.path}/webhooks/${webhook.uid}/deliveries`, "deliveries")).map((row) => [row.delivery_id, row]));
  for (const [i, id] of ids.entries()) {
    const { status, event, not_matched, outcomes } = log.get(id);
    const handshake = sent[i].event === "ping";
    assert.deepEqual(
      { status, event, not_matched, outcomes: outcomes.map(({ result }) => result) },
      {
        status: "accepted",
        event: sent[i].event,
        not_matched: handshake ? 0 : triggers.length - expected[i].length,
        outcomes: handshake ? ["handshake"] : expected[i].map(() => "started"),
      },
      sent[i].event,
    );
  }
});

test("a try of a trigger says the same", async () => {
  const part = process.env.LINESHAFT_SOAK ? 1 : 60; // of each trigger and each payload some
  const pairs = sent.flatMap((_, i) => triggers.map((_, j) => [i, j])).filter(([i, j]) => (i + j) % part === 0);
  const wrong = await together(8, pairs, async ([i, j], n) => {
    const { event, filter } = triggers[j];
    const against = n % 2 === 0 && sent[i].event !== "ping" ? { delivery_id: ids[i] } : { payload: sent[i].body, payload_event: sent[i].event };
    const { would_trigger, checks } = await server.call("POST", `${factory.path}/test-filter`, { provider: "github", event, filter: filter ?? {}, ...against });
    const right = fires(triggers[j], sent[i].event, sent[i].body);
    return would_trigger === right && would_trigger === checks.every(({ passed }) => passed) ? [] : [`${triggers[j].name} on ${sent[i].event} ${sent[i].body.action}`];
  });
  assert.deepEqual(wrong.flat(), []);
});

after(() => {
  console.log(`triggers: ${sent.length} published payloads × ${triggers.length} triggers = ${sent.length * triggers.length} comparisons, ${expected.flat().length} runs`);
});
