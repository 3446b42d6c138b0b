import assert from "node:assert/strict";
import test from "node:test";
import { Page } from "lineshaft";
import { FrameParser } from "../dist/esm/sse.js";
import { clientOf, json, problem, run, scripted, until } from "./support.mjs";

const event = (sequence, type = "message", data = { text: `m${sequence}` }) => ({ id: `e${sequence}`, sequence, type, time: "", data });
const ended = (sequence) => event(sequence, "state", { to: "SUCCEEDED" });
const frame = (event, id = event.sequence) => `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;

/** Sends frames; what is to come after the last of them is left open, unless it is cut or ended. */
function stream(text, finish = (response) => response.end()) {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(text, () => finish(response));
  };
}

async function collect(items) {
  const list = [];
  for await (const item of items) list.push(item);
  return list;
}

test("R9 leaving the loop frees the connection, also in the middle of a chunk", async (t) => {
  const server = await scripted(t, stream([1, 2, 3].map((n) => frame(event(n))).join(""), () => {}));
  for await (const { sequence } of clientOf(server).runs.stream("r1")) if (sequence === 2) break;
  await until(() => server.open.size === 0);
  assert.equal(server.requests.length, 1);
});

test("R9 an error of the caller within the loop frees the connection", async (t) => {
  const server = await scripted(t, stream(frame(event(1)), () => {}));
  const mine = new Error("mine");
  await assert.rejects(async () => {
    for await (const _ of clientOf(server).runs.stream("r1")) throw mine;
  }, mine);
  await until(() => server.open.size === 0);
});

test("R9 a signal ends a stream that waits", async (t) => {
  const server = await scripted(t, stream(frame(event(1)), () => {}));
  const controller = new AbortController();
  const seen = [];
  await assert.rejects(async () => {
    for await (const one of clientOf(server).runs.stream("r1", { signal: controller.signal })) {
      seen.push(one.sequence);
      setTimeout(() => controller.abort(), 5);
    }
  }, { name: "AbortError" });
  assert.deepEqual(seen, [1]);
  await until(() => server.open.size === 0);
});

test("R9 a caller that is slow does not look like a silent stream", async (t) => {
  const server = await scripted(t, stream(frame(event(1)) + frame(ended(2))));
  const seen = [];
  const idle = 1000;
  for await (const one of clientOf(server, { streamIdleTimeout: idle }).runs.stream("r1")) {
    seen.push(one.sequence);
    if (one.sequence === 1) await new Promise((resolve) => setTimeout(resolve, 1.5 * idle));
  }
  assert.deepEqual(seen, [1, 2]);
  assert.equal(server.requests.length, 1);
});

test("R9 the stream of states resumes after the last cursor and never ends by itself", async (t) => {
  const of = (n) => frame({ ...event(n, "state", { to: "QUEUED" }), run_id: `r${n}` }, `cursor-${n}`);
  const server = await scripted(t, stream(of(1) + of(2)), stream(of(3), (response) => response.destroy()), problem(503), stream(of(4), () => {}));
  const runs = [];
  for await (const { run_id } of clientOf(server).runs.streamStates({ state: ["QUEUED"], factory_uid: ["f1", "f2"] })) {
    runs.push(run_id);
    if (runs.length === 4) break;
  }
  assert.deepEqual(runs, ["r1", "r2", "r3", "r4"]);
  assert.deepEqual(server.requests.map((request) => request.headers["last-event-id"]), [undefined, "cursor-2", "cursor-3", "cursor-3"]);
  assert.equal(server.requests[0].url, "/api/v1/agent/events/stream?state=QUEUED&factory_uid=f1&factory_uid=f2");
});

test("R9 frames are the same however the bytes are cut", () => {
  const text = "\ufeff: hello\n\nid: 1\ndata: {\"a\":\ndata: \"日🚂\"}\n\nretry: 70\nevent: x\r\ndata:b\r\n\r\ndata: half";
  const bytes = new TextEncoder().encode(text);
  const want = [{ data: '{"a":\n"日🚂"}', id: "1" }, { data: "b", id: undefined }];
  for (let size = 1; size <= bytes.length; size++) {
    const parser = new FrameParser();
    const got = [];
    for (let at = 0; at < bytes.length; at += size) got.push(...parser.push(bytes.slice(at, at + size)));
    assert.deepEqual(got, want);
    assert.equal(parser.retry, 70);
    assert.ok(parser.cut);
  }
});

test("R9 an event of any size does not take all memory", () => {
  const parser = new FrameParser(100);
  const chunk = new TextEncoder().encode("data: " + "x".repeat(60));
  parser.push(chunk);
  assert.throws(() => parser.push(chunk), { name: "InvalidAnswerError" });
  const lines = new FrameParser(100);
  const line = new TextEncoder().encode("data: 123456789\n");
  assert.throws(() => Array.from({ length: 9 }, () => lines.push(line)), { name: "InvalidAnswerError" });
  const alive = new FrameParser(100);
  for (let i = 0; i < 1000; i++) alive.push(new TextEncoder().encode(": sign of life\n\n")); // comments are not kept
});

test("I3 a list is walked by its things or by its pages", async (t) => {
  const pages = { "": [["a", "b"], "2"], 2: [[], "3"], 3: [["c"], undefined] };
  const server = await scripted(t, (response, { url }) => {
    const [ids, next] = pages[new URL(url, "http://x").searchParams.get("cursor") ?? ""];
    json({ runs: ids.map((id) => run(id)), page_info: { has_next_page: next !== undefined, next_cursor: next } })(response);
  });
  const { runs } = clientOf(server);
  const ids = (list) => list.map((item) => item.run_id);
  assert.deepEqual(ids(await collect(runs.list({ limit: 2 }))), ["a", "b", "c"]);
  const page = await runs.list({ limit: 2 });
  assert.ok(page instanceof Page);
  assert.deepEqual([ids(page.items), page.nextCursor], [["a", "b"], "2"]);
  assert.deepEqual(ids(await collect(page)), ["a", "b", "c"]);
  assert.deepEqual((await (await page.next()).next()).nextCursor, undefined);
  assert.equal(await (await (await page.next()).next()).next(), undefined);
  assert.deepEqual((await collect(runs.list().pages())).map((one) => one.items.length), [2, 0, 1]);
  assert.deepEqual(ids(await collect(runs.list({ cursor: "3" }))), ["c"]);
  const { response } = await runs.list().withResponse();
  assert.equal((await response.json()).page_info.next_cursor, "2");
});

test("I3 wait tells changes and respects its time", async (t) => {
  const states = ["QUEUED", "QUEUED", "INPROGRESS", "SUCCEEDED"];
  const server = await scripted(t, (response, _, n) => json(run("r1", states[Math.min(n, 4) - 1]))(response));
  const seen = [];
  const done = await clientOf(server).runs.wait("r1", { interval: 1, onChange: ({ state }) => seen.push(state) });
  assert.equal(done.state, "SUCCEEDED");
  assert.deepEqual(seen, ["QUEUED", "INPROGRESS", "SUCCEEDED"]);
  const blocked = await scripted(t, json(run("r1", "BLOCKED")));
  await assert.rejects(clientOf(blocked).runs.wait("r1", { timeout: 1000 }), { name: "TimeoutError", message: /r1 .*BLOCKED/ });
  const mine = new Error("mine");
  const failing = clientOf(server).runs.wait("r1", { onChange: () => { throw mine; } });
  await assert.rejects(failing, mine);
});
