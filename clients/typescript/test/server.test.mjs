// Tries the client with a real server: LINESHAFT_URL and LINESHAFT_API_KEY.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { isTerminal, Lineshaft } from "lineshaft";
import { sign } from "lineshaft/webhooks";
import { home, project } from "./project.mjs";
import { proxy } from "./proxy.mjs";
import { until } from "./support.mjs";

const url = process.env.LINESHAFT_URL;
const skip = url && process.env.LINESHAFT_API_KEY ? false : "LINESHAFT_URL and LINESHAFT_API_KEY are not set; tests/clients/run sets them";

/** No worker has this id, so runs for it stay queued. */
const nobody = { worker_host: "nobody-here" };

async function collect(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

describe("I3 with a real server", { skip, concurrency: 4 }, () => {
  const client = skip ? undefined : new Lineshaft();

  test("I3 the README example runs as printed", async () => {
    const folder = project(after);
    const [, example] = readFileSync(join(home, "README.md"), "utf8").match(/```ts\n(.*?)```\n/s);
    writeFileSync(join(folder, "readme.mjs"), example);
    const { stdout } = await promisify(execFile)(process.execPath, ["readme.mjs"], { cwd: folder });
    assert.match(stdout, /^hello from [0-9a-f-]{36}\nSay hello.* SUCCEEDED .+\n$/s);
  });

  test("I3 the example that follows a run works", async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ["examples/follow.mjs", "```sh\necho over there\n```"], { cwd: home });
    assert.match(stdout, /over there[^]*-- SUCCEEDED/);
  });

  test("I3 a create whose answer is lost never makes two runs", async (t) => {
    for (const lost of [1, 2]) {
      const between = await proxy(t, url, (n) => (n < lost ? 0 : Infinity));
      const unlucky = new Lineshaft({ baseURL: between.url, backoff: { first: 1 } });
      const mark = randomUUID();
      const calls = Array.from({ length: 4 }, (_, i) => i);
      const started = [];
      for (const i of calls) started.push(await unlucky.runs.create({ prompt: `x${i}`, config: nobody, metadata: { mark } }));
      assert.equal(between.cuts, lost);
      const made = await collect(client.runs.list({ metadata: { mark } }));
      assert.deepEqual(made.map((run) => run.run_id).sort(), started.map((run) => run.run_id).sort());
    }
  });

  test("R9 a stream that is cut 100 times yields each event once and in order", async (t) => {
    // Each block has events of its own, so the log is long however slow the machine is.
    const blocks = Array.from({ length: 150 }, (_, i) => "```sh\necho line " + i + "\n```");
    const { run_id } = await client.runs.create({ prompt: blocks.join("\n") });
    await client.runs.wait(run_id, { timeout: 180_000 });
    const whole = await collect(client.runs.events(run_id));
    // Cuts fall before, between and within events; what was delivered stays delivered.
    const between = await proxy(t, url, (n) => (n < 100 ? 300 + ((n * 97) % 500) : Infinity));
    const unlucky = new Lineshaft({ baseURL: between.url, backoff: { first: 1, longest: 2 }, streamRetries: 200 });
    const seen = await collect(unlucky.runs.stream(run_id));
    assert.equal(between.cuts, 100);
    assert.deepEqual(seen, whole);
    assert.deepEqual(seen.map((event) => event.sequence), whole.map((_, i) => i + 1));
    assert.ok(isTerminal(seen.at(-1).data.to));
  });

  const { LINESHAFT_PAGES_URL: many, LINESHAFT_PAGES_COUNT: count, LINESHAFT_PAGES_NAME: name } = process.env;

  test("I3 paging walks all of many runs", { skip: many ? false : "LINESHAFT_PAGES_URL is not set; tests/clients/run sets it" }, async () => {
    const ids = new Set();
    let pages = 0;
    for await (const page of new Lineshaft({ baseURL: many }).runs.list({ name, limit: 500 }).pages()) {
      pages++;
      for (const run of page.items) ids.add(run.run_id);
    }
    assert.equal(ids.size, Number(count));
    assert.ok(pages >= ids.size / 500 && pages > 2);
    let seen = 0;
    for await (const run of new Lineshaft({ baseURL: many }).runs.list({ name, limit: 500, sort_by: "created_at", sort_order: "asc" })) {
      assert.ok(ids.has(run.run_id));
      seen++;
    }
    assert.equal(seen, ids.size);
  });

  test("I3 time-outs and cancellation free the connection", async (t) => {
    const between = await proxy(t, url);
    const { runs } = new Lineshaft({ baseURL: between.url });
    const { run_id } = await client.runs.create({ prompt: "x", config: nobody });
    const controller = new AbortController();
    const following = Array.from({ length: 5 }, async () => {
      for await (const _ of runs.stream(run_id, { signal: controller.signal }));
    });
    await until(() => between.open.size >= 5);
    await assert.rejects(runs.wait(run_id, { timeout: 300 }), { name: "TimeoutError" });
    controller.abort();
    for (const one of following) await assert.rejects(one, { name: "AbortError" });
    for await (const event of runs.stream(run_id)) if (event.sequence === 1) break;
    await until(() => between.open.size === 0); // kept connections go after 4 s
    await client.runs.cancel(run_id);
  });

  test("R9 the stream of states tells of a run", async () => {
    const mark = randomUUID();
    const controller = new AbortController();
    const states = client.runs.streamStates({ metadata: { mark } }, { signal: controller.signal });
    const first = states.next();
    // It tells what happens from its start on, so there are runs until one is told of.
    let told = false;
    void first.then(() => (told = true));
    const made = new Set();
    while (!told) made.add((await client.runs.create({ prompt: "x", config: nobody, metadata: { mark } })).run_id);
    const { value } = await first;
    assert.ok(made.has(value.run_id));
    assert.equal(value.data.to, "QUEUED");
    await states.return();
    await client.runs.cancelAll({ filter: { metadata: { mark } } });
  });

  test("I3 a delivery that is signed here starts a run there", async () => {
    const factory = await client.factories.create({ name: `ts-${randomUUID().slice(0, 8)}` });
    for (const scheme of ["github", "standard_webhooks", "stripe"]) {
      const hook = await client.webhooks.create(factory.uid, { name: scheme.replace("_", "-"), auth_mode: "signature", signature_scheme: scheme, secret: secretOf(scheme) });
      const body = JSON.stringify({ id: "evt_1" });
      const headers = await sign({ scheme, secret: secretOf(scheme), body, id: "d1" });
      const sent = await fetch(hook.ingress_url, { method: "POST", body, headers: { ...headers, "content-type": "application/json" } });
      assert.ok(sent.ok, `${scheme}: ${sent.status} ${await sent.text()}`);
      const wrong = await fetch(hook.ingress_url, { method: "POST", body: "{}", headers: { ...headers, "content-type": "application/json" } });
      assert.equal(wrong.status, 401, scheme);
    }
    await client.factories.delete(factory.uid);
  });

  test("I3 every list can be walked", async () => {
    for (const resource of ["agents", "apikeys", "environments", "factories", "runs", "schedules", "secrets", "audit", "workers"]) {
      assert.ok(Array.isArray((await client[resource].list()).items), resource);
    }
    assert.ok((await client.models.list()).models);
    assert.equal((await client.server.whoami()).role, "admin");
  });
});

function secretOf(scheme) {
  return scheme === "standard_webhooks" ? `whsec_${btoa("a key of at least 24 bytes")}` : "a-secret-of-some-length";
}
