// Forty filters over the payloads that GitHub publishes: what the server starts is
// what a second, naive reading of the specification expects. The server under test
// has no worker: the runs stay queued.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { matches } from "../naive.mjs";
import { Server, required, together } from "./support.mjs";

const server = new Server(required("LINESHAFT_PROVIDERS_IDLE_URL"));

// One filter per line. The server gets each as it is written, since JavaScript would
// write 2.0 as 2.
const text = readFileSync(new URL("../filters.json", import.meta.url), "utf8");
const filters = JSON.parse(text);
const written = text.split("\n").flatMap((line) => /^ {2}\{"name": "[^"]+"(?:, "payload": (.+))?\},?$/.exec(line)?.slice(1) ?? []);

const published = createRequire(import.meta.url)("@octokit/webhooks-examples").flatMap(({ examples }) => examples);

// What GitHub never sends: bodies that are no object, arrays of both kinds, repeated keys.
const odd = [
  `{}`,
  `[]`,
  `null`,
  `"action"`,
  `0`,
  `{"action":null}`,
  `{"action":["edited","created"],"id":6805126730.0}`,
  `{"action":[["created"]],"installation":null}`,
  `{"action":{"in":"created"},"repository":"none"}`,
  `{"action":"created","action":"opened"}`,
  `[{"action":"created"},{"repository":{"private":true,"open_issues":3}}]`,
  `[1,"created",null,{"action":"deleted","repository":{"description":null}}]`,
  `{"repository":[{"private":true},{"fork":false,"has_pages":true,"open_issues_count":2}]}`,
  `{"repository":[{"fork":false},{"has_pages":true}],"branches":[]}`,
  `{"issue":{"labels":["bug",{"name":"bug","default":true}],"assignees":["Codertocat",{"login":"x"}],"reactions":{"+1":0,"-1":1.0}}}`,
  `{"commits":[[{"modified":[],"added":[]}]],"workflow":[null,{"state":null}]}`,
  `{"commits":[{"modified":["README.md"],"added":[]},{"modified":[],"added":null}],"head_commit":false}`,
];

const bodies = [...published.map((body) => JSON.stringify(body)), ...odd];
const expected = bodies.map((body) => filters.map(({ payload }) => matches(payload, JSON.parse(body))));
const names = (row) => filters.filter((_, i) => row[i]).map(({ name }) => name);

let factory, webhook, ids, tried;
const found = new Map(); // by delivery: the names of the automations that started

before(async () => {
  factory = await server.factory("filters");
  webhook = await factory.webhook({ name: "github", rate_limit: 0 });
  await together(8, filters, ({ name }, i) => factory.automation(name, "Look at it.", webhook, written[i]));
  const send = async (body, i) => {
    const response = await fetch(webhook.ingress_url, {
      method: "POST",
      headers: { authorization: `Bearer ${webhook.secret}`, "x-service-delivery-id": `payload ${i}` },
      body,
    });
    assert.equal(response.status, 202, await response.clone().text());
    return (await response.json()).delivery_id;
  };
  ids = await together(8, bodies, send);
});

test("there are 40 filters and 329 published payloads", () => {
  assert.equal(filters.length, 40);
  assert.equal(published.length, 329);
  assert.deepEqual(written.map((payload) => payload && JSON.parse(payload)), filters.map(({ payload }) => payload));
  assert.equal(new Set(ids).size, bodies.length);
});

test("the runs are those that the naive evaluator expects", async () => {
  const automations = new Map((await server.all(`${factory.path}/automations`, "automations")).map(({ uid, name }) => [uid, name]));
  for (const { metadata } of await server.runsOf(webhook)) {
    const started = found.get(metadata.delivery_id) ?? [];
    started.push(automations.get(metadata.automation_id));
    found.set(metadata.delivery_id, started);
  }
  assert.deepEqual(
    bodies.map((body, i) => [body.slice(0, 100), (found.get(ids[i]) ?? []).toSorted()]),
    bodies.map((body, i) => [body.slice(0, 100), names(expected[i])]),
  );
});

test("the delivery log says the same", async () => {
  const log = await server.all(`${factory.path}/webhooks/${webhook.uid}/deliveries`, "deliveries");
  const rows = new Map(log.map((row) => [row.delivery_id, row]));
  for (const [i, id] of ids.entries()) {
    const { status, size, not_matched, outcomes } = rows.get(id);
    assert.deepEqual(
      { status, size, not_matched, started: outcomes.filter(({ result }) => result === "started").map(({ automation_name }) => automation_name).toSorted() },
      { status: "accepted", size: Buffer.byteLength(bodies[i]), not_matched: expected[i].filter((match) => !match).length, started: names(expected[i]) },
      bodies[i].slice(0, 200),
    );
  }
  assert.equal(rows.size, ids.length);
});

test("each delivery has its payload, and a reason for each automation that did not match", async () => {
  const misses = (row) => filters.filter((_, i) => !row[i]).map(({ name }) => name);
  await together(8, ids, async (id, i) => {
    const delivery = await server.call("GET", `${factory.path}/webhooks/${webhook.uid}/deliveries/${id}?explain=1`);
    assert.deepEqual(delivery.payload, JSON.parse(bodies[i]));
    const missed = delivery.not_matched_automations;
    assert.deepEqual(missed.map(({ automation_name }) => automation_name).toSorted(), misses(expected[i]), bodies[i].slice(0, 200));
    for (const { automation_name, checks } of missed) assert.ok(checks.some(({ passed }) => !passed), `${automation_name}: no check fails`);
  });
});

test("a try of a filter says the same", async () => {
  // A part of the published ones, so that each filter and each payload has its turn; all of the odd ones.
  const part = process.env.LINESHAFT_SOAK ? 1 : 16;
  const pairs = bodies.flatMap((_, i) => filters.map((_, j) => [i, j])).filter(([i, j]) => i >= published.length || (i + j) % part === 0);
  const answers = await together(8, pairs, async ([i, j], n) => {
    const filter = `{"webhook_ids":["${webhook.uid}"]${written[j] ? `,"payload":${written[j]}` : ""}}`;
    const against = n % 2 === 0 ? `"payload":${bodies[i]}` : `"delivery_id":"${ids[i]}"`;
    const { would_trigger, checks } = await server.call("POST", `${factory.path}/test-filter`, `{"filter":${filter},${against}}`);
    return { would_trigger, passed: checks.every(({ passed }) => passed) };
  });
  const shown = ([i, j]) => [filters[j].name, bodies[i].slice(0, 200)];
  assert.deepEqual(pairs.filter(([i, j], n) => answers[n].would_trigger !== expected[i][j]).map(shown), []);
  assert.deepEqual(pairs.filter((_, n) => answers[n].would_trigger !== answers[n].passed).map(shown), [], "the checks do not add up to the verdict");
  tried = pairs.length;
});

after(() => {
  const all = expected.flat();
  console.log(
    `filters: ${published.length} published and ${odd.length} odd payloads × ${filters.length} filters = ${all.length} comparisons of runs, of the log and of reasons, ${all.filter(Boolean).length} matches; ${tried} tries`,
  );
});
