import assert from "node:assert/strict";
import test from "node:test";
import { inspect } from "node:util";
import * as lineshaft from "lineshaft";
import { clientOf, cut, json, key, problem, run, scripted, silence, until } from "./support.mjs";

const { Lineshaft } = lineshaft;

test("I3 a call sends the key, the query and the body", async (t) => {
  const server = await scripted(t, json({ run_id: "r1", state: "QUEUED" }));
  const client = clientOf(server, { headers: { "x-own": "1" } });
  const started = await client.runs.create({ prompt: "hello", config: { model_id: "m" } });
  assert.equal(started.run_id, "r1");
  await client.runs.list({ state: ["FAILED", "ERROR"], metadata: { team: "a b" }, created_after: new Date(0), limit: 5, q: undefined });
  const [post, get] = server.requests;
  assert.equal(post.url, "/api/v1/agent/runs");
  assert.equal(post.headers.authorization, `Bearer ${key}`);
  assert.match(post.headers["user-agent"], /^lineshaft-typescript\/\d/);
  assert.equal(post.headers["x-own"], "1");
  assert.match(post.headers["idempotency-key"], /^[0-9a-f]{32}$/);
  assert.deepEqual(JSON.parse(post.body), { prompt: "hello", config: { model_id: "m" } });
  const query = new URL(get.url, server.url).searchParams;
  assert.deepEqual(query.getAll("state"), ["FAILED", "ERROR"]);
  assert.equal(query.get("metadata[team]"), "a b");
  assert.equal(query.get("created_after"), "1970-01-01T00:00:00.000Z");
  assert.equal(query.has("q"), false);
  assert.equal(get.headers["idempotency-key"], undefined);
});

test("H9 a header of the caller replaces ours, however its name is written", async (t) => {
  const server = await scripted(t, json({ run_id: "r1", state: "QUEUED" }));
  const headers = { "Idempotency-Key": "mine", "Content-Type": "application/json; charset=utf-8", ACCEPT: "*/*" };
  await clientOf(server).runs.create({ prompt: "x" }, { headers });
  const own = clientOf(server, { headers: { "User-Agent": "me", "IDEMPOTENCY-KEY": "the client's", "Content-Type": "text/plain" } });
  await own.runs.create({ prompt: "x" });
  await own.runs.create({ prompt: "x" }, { idempotencyKey: "the call's" });
  const [first, second, third] = server.requests.map((request) => request.headers);
  assert.deepEqual([first["idempotency-key"], first["content-type"], first["accept"]], ["mine", "application/json; charset=utf-8", "*/*"]);
  assert.deepEqual([second["idempotency-key"], second["content-type"], second["user-agent"]], ["the client's", "application/json", "me"]);
  assert.equal(third["idempotency-key"], "the call's");
});

test("I3 a time-out that no timer can count is none", async (t) => {
  const server = await scripted(t, (response) => setTimeout(() => json(run())(response), 50));
  for (const timeout of [Infinity, 2 ** 31, NaN, 0]) {
    const client = clientOf(server, { timeout, maxRetries: 0, streamIdleTimeout: timeout });
    assert.equal((await client.runs.get("r1")).run_id, "r1", String(timeout));
    assert.equal((await client.runs.wait("r1", { timeout })).run_id, "r1", String(timeout));
  }
  const running = await scripted(t, json(run("r1", "INPROGRESS")));
  await assert.rejects(clientOf(running).runs.wait("r1", { interval: Infinity, timeout: 1500 }), { name: "TimeoutError" });
  assert.equal(running.requests.length, 1);
});

test("I3 an error names the address, and where the key comes from", async (t) => {
  const gone = await scripted(t, cut);
  const options = { maxRetries: 0, streamRetries: 0 };
  await assert.rejects(clientOf(gone, options).runs.get("r1"), { name: "ConnectionError", message: new RegExp(`^GET ${gone.url}/api/v1/agent/runs/r1: .`) });
  await assert.rejects(clientOf(gone, options).runs.stream("r1").next(), { name: "ConnectionError", message: new RegExp(gone.url) });
  const silent = await scripted(t, silence);
  await assert.rejects(clientOf(silent, options).runs.get("r1", {}, { timeout: 20 }), { name: "TimeoutError", message: new RegExp(silent.url) });
  const several = Object.assign(new TypeError("fetch failed"), { cause: new AggregateError([new Error("refused by ::1"), new Error("x")]) });
  const failing = clientOf(gone, { ...options, fetch: () => Promise.reject(several) });
  await assert.rejects(failing.runs.get("r1"), { message: /agent\/runs\/r1: refused by ::1$/ });
  const closed = await scripted(t, problem(401));
  await assert.rejects(clientOf(closed).runs.get("r1"), { name: "AuthenticationError", message: /because.*apiKey.*LINESHAFT_API_KEY.*lineshaft apikey create/ });
  assert.throws(() => clientOf(gone).runs.get(""), { message: '"" is not an id.' });
});

test("I3 ids are escaped, and those that would address another thing are refused", async (t) => {
  const server = await scripted(t, json(run()));
  const client = clientOf(server);
  await client.runs.get("../factory?x#y");
  assert.equal(server.requests[0].url, "/api/v1/agent/runs/..%2Ffactory%3Fx%23y");
  for (const id of ["", ".", "..", undefined, null]) await assert.rejects(async () => client.runs.get(id), TypeError);
  for (const path of ["agent/runs", "//evil.example/", "/../../secret", "/%2e%2e/%2e%2e/x", "/a#b", "\\\\evil.example"]) {
    await assert.rejects(client.get(path), TypeError, path);
  }
  assert.equal(server.requests.length, 1);
});

test("I3 raw answers and undocumented endpoints", async (t) => {
  const server = await scripted(t, json({ a: 1 }, 200, { "x-request-id": "q7" }));
  const client = clientOf(server);
  const { data, response } = await client.get("/new/thing?x=1", { query: { y: [2, 3] } }).withResponse();
  assert.deepEqual(data, { a: 1 });
  assert.equal(response.headers.get("x-request-id"), "q7");
  assert.deepEqual(await response.json(), { a: 1 });
  assert.equal(server.requests[0].url, "/api/v1/new/thing?x=1&y=2&y=3");
  const raw = await client.runs.get("r1").asResponse();
  assert.equal(raw.status, 200);
  assert.equal(await raw.text(), '{"a":1}');
  for (const method of ["post", "put", "patch"]) assert.deepEqual(await client[method]("/x", { b: 2 }), { a: 1 });
  assert.deepEqual(await client.delete("/x"), { a: 1 });
  const seen = await client.get("/x").then((value) => value, () => assert.fail());
  assert.deepEqual(seen, { a: 1 });
  let settled = false;
  await client.get("/x").finally(() => (settled = true));
  assert.ok(settled);
});

test("I3 an error has a class, a code and what the server said", async (t) => {
  const classes = {
    400: "BadRequestError",
    401: "AuthenticationError",
    403: "PermissionDeniedError",
    404: "NotFoundError",
    409: "ConflictError",
    413: "PayloadTooLargeError",
    418: "APIError",
    422: "UnprocessableError",
    429: "RateLimitError",
    500: "InternalServerError",
    599: "InternalServerError",
  };
  for (const [status, name] of Object.entries(classes)) {
    const server = await scripted(t, problem(Number(status), { "retry-after": "7" }));
    const error = await clientOf(server, { maxRetries: 0 }).runs.get("r1").catch((error) => error);
    assert.ok(error instanceof lineshaft[name] && error instanceof lineshaft.APIError && error instanceof lineshaft.LineshaftError, name);
    assert.equal(error.name, name);
    const { code, detail, title, traceId, requestId, retryAfter, attempts } = error;
    assert.deepEqual({ code, detail, title, traceId, requestId, retryAfter, attempts }, {
      code: "some_code", detail: "because", title: "No", traceId: "t1", requestId: "q1", retryAfter: 7, attempts: 1,
    });
    const advice = error.message.replace(`GET /agent/runs/r1: ${status} some_code: because (request q1)`, "");
    if (status === "401") assert.match(advice, /^: check the option apiKey/);
    else assert.equal(advice, "");
  }
});

test("I3 an error that no Lineshaft wrote is an error, too", async (t) => {
  const bodies = [
    ["text/html", "<h1>Bad Gateway</h1>", "GET /agent/runs/r1: 502: Bad Gateway"],
    ["text/plain", " no upstream \n", "GET /agent/runs/r1: 502: no upstream"],
    ["application/json", "[", "GET /agent/runs/r1: 502: Bad Gateway"],
    ["application/json", '{"type":"https://x.example/errors/not-found/","title":3}', "GET /agent/runs/r1: 502 not_found: Bad Gateway"],
  ];
  for (const [type, body, message] of bodies) {
    const server = await scripted(t, (response) => response.writeHead(502, { "content-type": type }).end(body));
    await assert.rejects(clientOf(server, { maxRetries: 0 }).runs.get("r1"), { name: "InternalServerError", message });
  }
});

test("I3 an answer that is not JSON is told and not repeated", async (t) => {
  const server = await scripted(t, (response) => response.end('{"run_id":'));
  await assert.rejects(clientOf(server).runs.get("r1"), { name: "InvalidAnswerError", message: /not JSON/ });
  assert.equal(server.requests.length, 1);
});

test("I3 a time-out covers the whole answer and frees the connection", async (t) => {
  const slowBody = (response) => response.writeHead(200).write('{"run_id":');
  for (const answer of [silence, slowBody]) {
    const server = await scripted(t, answer);
    // A time-out that was too short for this machine to send so many requests is tried again with a longer one.
    const sent = async (count, attempt) => {
      for (const timeout of [300, 3000, 30_000]) {
        const before = server.requests.length;
        await assert.rejects(attempt(timeout), { name: "TimeoutError" });
        assert.ok(server.requests.length <= before + count, `${server.requests.length - before} requests`);
        if (server.requests.length === before + count) return;
      }
      assert.fail(`less than ${count} requests came`);
    };
    await sent(2, (timeout) => clientOf(server, { timeout, maxRetries: 1 }).runs.get("r1"));
    await sent(1, (timeout) => clientOf(server, { timeout: 60_000, maxRetries: 1 }).runs.get("r1", {}, { timeout, maxRetries: 0 }));
    await until(() => server.open.size === 0);
  }
});

test("I3 an AbortSignal ends a call, its pause and its connection", async (t) => {
  const server = await scripted(t, silence);
  const controller = new AbortController();
  const call = clientOf(server).runs.get("r1", {}, { signal: controller.signal });
  await until(() => server.requests.length === 1);
  controller.abort(new Error("enough"));
  await assert.rejects(call, (error) => error.name === "AbortError" && error.cause.message === "enough");
  await until(() => server.open.size === 0);
  await assert.rejects(clientOf(server).runs.get("r1", {}, { signal: controller.signal }), { name: "AbortError" });
  assert.equal(server.requests.length, 1);

  const busy = await scripted(t, problem(503, { "retry-after": "30" }));
  const pausing = new AbortController();
  const waiting = clientOf(busy).runs.get("r1", {}, { signal: pausing.signal });
  await until(() => busy.requests.length === 1);
  setTimeout(() => pausing.abort(), 10);
  await assert.rejects(waiting, { name: "AbortError" });
});

test("I3 the key is in no error and in no picture of a client", async (t) => {
  const server = await scripted(t, problem(500), cut);
  const client = clientOf(server, { maxRetries: 0 });
  const errors = [await client.runs.get("r1").catch((e) => e), await client.runs.get("r1").catch((e) => e)];
  for (const thing of [client, client.runs, ...errors]) {
    assert.ok(!inspect(thing, { depth: 9, showHidden: true }).includes(key));
    assert.ok(!(JSON.stringify(thing) ?? "").includes(key));
  }
  for (const apiKey of ["ls_two words", "ls_line\n", "ls_ü"]) {
    assert.throws(() => new Lineshaft({ baseURL: "http://x", apiKey }), (error) => error instanceof TypeError && !error.message.includes(apiKey));
  }
});

test("I3 the address of the server is checked", () => {
  for (const baseURL of ["", "nope", "ftp://x", "http://u:p@x", "http://x?a", "http://x/#b"]) {
    assert.throws(() => new Lineshaft({ baseURL, apiKey: key }), TypeError, baseURL);
  }
  for (const [given, full] of [["http://x", "http://x/api/v1"], ["https://x/api/v1/", "https://x/api/v1"], ["http://x/sub/", "http://x/sub/api/v1"]]) {
    assert.equal(new Lineshaft({ baseURL: given, apiKey: key }).baseURL, full);
  }
});

test("I3 address and key come from the environment", () => {
  const kept = { ...process.env };
  try {
    delete process.env.LINESHAFT_URL;
    delete process.env.LINESHAFT_API_KEY;
    assert.throws(() => new Lineshaft(), /LINESHAFT_URL/);
    process.env.LINESHAFT_URL = "http://from.example";
    assert.throws(() => new Lineshaft(), /LINESHAFT_API_KEY/);
    process.env.LINESHAFT_API_KEY = key;
    assert.equal(new Lineshaft().baseURL, "http://from.example/api/v1");
  } finally {
    for (const name of ["LINESHAFT_URL", "LINESHAFT_API_KEY"]) {
      if (kept[name] === undefined) delete process.env[name];
      else process.env[name] = kept[name];
    }
  }
});

test("I3 a redirect to another origin never carries the key", async (t) => {
  const other = await scripted(t, json(run("other")));
  const server = await scripted(t, (response) => response.writeHead(302, { location: `${other.url}/file` }).end());
  assert.equal((await clientOf(server).runs.get("r1")).title, "other");
  assert.equal(other.requests[0].headers.authorization, undefined);
  const back = await scripted(t, (response, request, n) =>
    n === 1 ? response.writeHead(307, { location: "/api/v1/elsewhere" }).end() : json(run("same"))(response));
  assert.equal((await clientOf(back).runs.get("r1")).title, "same");
  assert.equal(back.requests[1].headers.authorization, `Bearer ${key}`);
});

test("I3 a redirect keeps the key within scheme, host and port only", async () => {
  for (const [to, keeps] of [
    ["http://lineshaft.test/moved", true],
    ["http://lineshaft.test:80/moved", true],
    ["https://lineshaft.test/moved", false],
    ["http://lineshaft.test:81/moved", false],
    ["http://a.lineshaft.test/moved", false],
  ]) {
    const keys = [];
    const fetch = async (_, { headers }) => {
      keys.push(headers.get("authorization"));
      return keys.length === 1 ? new Response(null, { status: 307, headers: { location: to } }) : Response.json(run("moved"));
    };
    await new Lineshaft({ baseURL: "http://lineshaft.test", apiKey: key, fetch }).runs.get("r1");
    assert.deepEqual(keys, [`Bearer ${key}`, keeps ? `Bearer ${key}` : null], to);
  }
});

test("S2 who was left gets neither key nor own headers by sending the client back", async () => {
  const seen = [];
  const fetch = async (_, { headers }) => {
    seen.push([headers.get("authorization"), headers.get("x-own"), headers.get("accept")]);
    const to = ["http://files.test/moved", "http://lineshaft.test/back"][seen.length - 1];
    return to ? new Response(null, { status: 307, headers: { location: to } }) : Response.json(run("back"));
  };
  await new Lineshaft({ baseURL: "http://lineshaft.test", apiKey: key, fetch, headers: { "X-Own": "s3cret" } }).runs.get("r1");
  assert.deepEqual(seen, [[`Bearer ${key}`, "s3cret", "application/json"], [null, null, "application/json"], [null, null, "application/json"]]);
});

test("S2 a browser, which hides where a redirect leads, is given no own headers for it", async () => {
  const seen = [];
  const fetch = async (_, { headers, redirect }) => {
    seen.push([redirect, headers.get("authorization"), headers.get("x-own")]);
    return redirect === "manual" ? Object.defineProperty(Response.error(), "type", { value: "opaqueredirect" }) : Response.json(run("followed"));
  };
  const client = new Lineshaft({ baseURL: "http://lineshaft.test", apiKey: key, fetch, headers: { "X-Own": "s3cret" } });
  assert.equal((await client.runs.get("r1")).title, "followed");
  assert.deepEqual(seen, [["manual", `Bearer ${key}`, "s3cret"], ["follow", `Bearer ${key}`, null]]); // it leaves the key out itself
});

test("I3 a redirected POST does not become a GET, and a circle ends", async (t) => {
  for (const status of [301, 302, 303, 307, 308]) {
    const moved = await scripted(t, (response) => response.writeHead(status, { location: "https://new.example/x" }).end());
    await assert.rejects(clientOf(moved).runs.create({ prompt: "x" }), { name: "ConnectionError", message: /redirects POST to https:\/\/new\.example/ });
    assert.equal(moved.requests.length, 1);
  }
  const circle = await scripted(t, (response) => response.writeHead(302, { location: "/api/v1/agent/runs/r1" }).end());
  await assert.rejects(clientOf(circle).runs.get("r1"), { message: /10 redirects/ });
  assert.equal(circle.requests.length, 11);
});

test("I3 a download is a stream, and can be left", async (t) => {
  const server = await scripted(t, (response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    response.write("first");
  });
  const timeout = 1000; // on a busy machine the headers take a while
  const file = await clientOf(server, { timeout }).artifacts.download("a1");
  const reader = file.body.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value), "first");
  await new Promise((resolve) => setTimeout(resolve, 1.2 * timeout)); // longer than the time-out, which ended with the headers
  await reader.cancel();
  await until(() => server.open.size === 0);
});

test("I3 content is sent as it is, and a stream once", async (t) => {
  const server = await scripted(t, problem(503), json({ run_id: "r1" }));
  const bytes = new TextEncoder().encode("content");
  await clientOf(server).runs.reportArtifact("r1", bytes, { filename: "a.txt" });
  assert.equal(server.requests[1].body, "content");
  assert.equal(server.requests[1].headers["content-type"], "application/octet-stream");
  const busy = await scripted(t, problem(503));
  await assert.rejects(clientOf(busy).runs.reportArtifact("r1", new Blob(["x"]).stream(), { filename: "a" }), { name: "InternalServerError" });
  assert.equal(busy.requests.length, 1);
});
