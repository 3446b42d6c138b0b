import assert from "node:assert/strict";
import { createServer } from "node:net";
import { once } from "node:events";
import test from "node:test";
import { Lineshaft } from "lineshaft";
import { pause, retryAfter } from "../dist/esm/retry.js";
import { clientOf, cut, json, key, problem, run, scripted } from "./support.mjs";

const cutBody = (response) => {
  response.writeHead(200, { "content-length": "100" });
  response.write('{"run_id":', () => response.destroy());
};

test("I3 what may pass is tried again", async (t) => {
  for (const failure of [cut, cutBody, ...[408, 409, 429, 500, 502, 503, 504, 529].map((status) => problem(status))]) {
    const server = await scripted(t, failure, failure, json(run()));
    assert.equal((await clientOf(server).runs.get("r1")).run_id, "r1");
    assert.equal(server.requests.length, 3);
  }
});

test("I3 what cannot pass is not", async (t) => {
  for (const status of [400, 401, 403, 404, 413, 422]) {
    const server = await scripted(t, problem(status));
    await assert.rejects(clientOf(server).runs.get("r1"), { status, attempts: 1 });
    assert.equal(server.requests.length, 1);
  }
});

test("I3 retries end, and a call can have its own number", async (t) => {
  const server = await scripted(t, problem(500));
  await assert.rejects(clientOf(server).runs.get("r1"), { attempts: 3 });
  await assert.rejects(clientOf(server).runs.get("r1", {}, { maxRetries: 4 }), { attempts: 5 });
  await assert.rejects(clientOf(server, { maxRetries: 0 }).runs.get("r1"), { attempts: 1 });
});

test("I3 every attempt of a POST has the same Idempotency-Key, another call another", async (t) => {
  const server = await scripted(t, cut, problem(500), json({ run_id: "r1" }));
  const client = clientOf(server);
  await client.runs.create({ prompt: "x" });
  await client.runs.create({ prompt: "x" });
  await client.runs.create({ prompt: "x" }, { idempotencyKey: "mine" });
  const keys = server.requests.map((request) => request.headers["idempotency-key"]);
  assert.equal(keys.length, 5);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.notEqual(keys[3], keys[0]);
  assert.equal(keys[4], "mine");
});

test("I3 a POST that the server keeps no key for is not repeated when it may have acted", async (t) => {
  for (const failure of [cut, cutBody, problem(500), problem(409), problem(408)]) {
    const server = await scripted(t, failure, json({}));
    await assert.rejects(clientOf(server).factories.create({ name: "f" }));
    await scripted(t, failure).then((other) => assert.rejects(clientOf(other).post("/anything", {})));
    assert.equal(server.requests.length, 1);
  }
  for (const failure of [problem(429), problem(503), problem(500, { "x-should-retry": "true" })]) {
    const server = await scripted(t, failure, json({ uid: "f1" }));
    assert.equal((await clientOf(server).factories.create({ name: "f" })).uid, "f1");
  }
});

test("I3 a POST is repeated when it was never sent", async () => {
  const spare = createServer().listen(0, "127.0.0.1");
  await once(spare, "listening");
  const { port } = spare.address();
  spare.close();
  let sent = 0;
  const counting = (...args) => {
    sent++;
    return fetch(...args);
  };
  const client = new Lineshaft({ baseURL: `http://127.0.0.1:${port}`, apiKey: key, fetch: counting, backoff: { first: 1 } });
  await assert.rejects(client.factories.create({ name: "f" }), { name: "ConnectionError", message: /ECONNREFUSED/ });
  assert.equal(sent, 3);
});

test("I3 x-should-retry decides", async (t) => {
  const no = await scripted(t, problem(500, { "x-should-retry": "false" }));
  await assert.rejects(clientOf(no).runs.get("r1"), { attempts: 1 });
  const yes = await scripted(t, problem(400, { "x-should-retry": "true" }), json(run()));
  assert.equal((await clientOf(yes).runs.get("r1")).run_id, "r1");
});

test("I3 the server's pause is kept, and a long one is given to the caller", async (t) => {
  for (const headers of [{ "retry-after-ms": "80" }, { "retry-after": "0.08" }, { "retry-after-ms": "80", "retry-after": "500" }]) {
    const server = await scripted(t, problem(429, headers), json(run()));
    const start = performance.now();
    await clientOf(server).runs.get("r1");
    assert.ok(performance.now() - start >= 75);
  }
  const server = await scripted(t, problem(429, { "retry-after": "61" }));
  await assert.rejects(clientOf(server).runs.get("r1"), { name: "RateLimitError", retryAfter: 61, attempts: 1 });
});

test("I3 Retry-After is read in every form", () => {
  const now = Date.parse("Wed, 21 Oct 2015 07:28:00 GMT");
  const read = (headers) => retryAfter(new Headers(headers), now);
  assert.equal(read({ "retry-after": "Wed, 21 Oct 2015 07:28:30 GMT" }), 30);
  assert.equal(read({ "retry-after": "Wed, 21 Oct 2015 07:00:00 GMT" }), 0);
  assert.equal(read({ "retry-after-ms": "1500" }), 1.5);
  assert.equal(read({ "retry-after-ms": "x", "retry-after": "2" }), 2);
  for (const value of ["", "-1", "soon", "1e3", "0x10", "12 GMT", "2015-10-21"]) assert.equal(read({ "retry-after": value }), undefined, value);
});

test("I3 pauses double up to the longest, less up to a quarter", () => {
  const backoff = { first: 500, longest: 8000 };
  assert.deepEqual([0, 1, 2, 3, 4, 5, 2000].map((n) => pause(backoff, n, () => 0)), [500, 1000, 2000, 4000, 8000, 8000, 8000]);
  assert.equal(pause(backoff, 0, () => 1), 375);
});

test("I3 a delete whose answer was lost has succeeded", async (t) => {
  const server = await scripted(t, cut, problem(404));
  assert.equal(await clientOf(server).runs.delete("r1"), undefined);
  await assert.rejects(clientOf(await scripted(t, problem(404))).runs.delete("r1"), { name: "NotFoundError" });
});
