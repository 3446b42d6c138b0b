// Error classes and retries: real ones where a route gives them, injected ones
// where a healthy server has none.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import * as sdk from "oz-agent-sdk";
import { startProxy } from "../../proxy.mjs";
import { adminKey, client, keyFor, limitedServer, parked, server, unique } from "./support.mjs";

let proxy;
before(async () => (proxy = await startProxy(server)));
after(() => proxy.close());

/** A client behind the proxy, which forgets what was before. */
function proxied(options = {}, ...faults) {
  proxy.reset();
  proxy.fail(...faults);
  return client({ url: proxy.url, ...options });
}

const unknown = "00000000-0000-7000-8000-000000000000";

async function fails(promise, { kind, status, code }) {
  const error = await promise.then(
    (value) => assert.fail(`no error, but ${JSON.stringify(value)}`),
    (reason) => reason,
  );
  assert.ok(error instanceof kind, `${error.constructor.name} instead of ${kind.name}: ${error.message}`);
  assert.equal(error.status, status);
  if (code) {
    assert.equal(error.error.code, code);
    assert.equal(error.error.status, status);
    assert.match(error.error.type, new RegExp(`/docs/errors/${code}$`));
    assert.ok(error.error.error.startsWith(error.error.title), "error does not begin with the title");
  }
  return error;
}

test("400 is BadRequestError and names the field", async () => {
  const error = await fails(client().agent.runs.list({ limit: 501 }), { kind: sdk.BadRequestError, status: 400, code: "invalid_request" });
  assert.match(error.error.detail, /limit/);
  await fails(client().agent.run({}), { kind: sdk.BadRequestError, status: 400, code: "invalid_request" });
  await fails(client().agent.run({ prompt: 7 }), { kind: sdk.BadRequestError, status: 400, code: "invalid_request" });
});

test("400 is what a second cancel gets", async () => {
  const { agent } = client();
  const { run_id } = await agent.run({ prompt: "x", config: parked(unique("twice")) });
  await agent.runs.cancel(run_id);
  await fails(agent.runs.cancel(run_id), { kind: sdk.BadRequestError, status: 400, code: "invalid_request" });
});

test("401 is AuthenticationError", async () => {
  for (const apiKey of ["wrong", `ls_${"x".repeat(40)}`]) {
    await fails(client({ apiKey }).agent.runs.list(), { kind: sdk.AuthenticationError, status: 401, code: "authentication_required" });
  }
});

test("403 is PermissionDeniedError: a viewer may look, not start or cancel", async () => {
  const viewer = client({ apiKey: await keyFor("viewer") });
  const { run_id } = await client().agent.run({ prompt: "x", config: parked(unique("viewer")) });
  assert.equal((await viewer.agent.runs.retrieve(run_id)).run_id, run_id);
  const denied = { kind: sdk.PermissionDeniedError, status: 403, code: "not_authorized" };
  await fails(viewer.agent.run({ prompt: "x" }), denied);
  await fails(viewer.agent.runs.cancel(run_id), denied);
  await client().agent.runs.cancel(run_id);
});

test("404 is NotFoundError", async () => {
  const missing = { kind: sdk.NotFoundError, status: 404, code: "resource_not_found" };
  await fails(client().agent.runs.retrieve(unknown), missing);
  await fails(client().agent.runs.cancel(unknown), missing);
  await fails(client().get("/no/such/route"), missing);
});

test("409 is ConflictError, and one that stays is not retried", async () => {
  const { run_id } = await client().agent.run({ prompt: "x", config: parked(unique("live")) });
  const error = await fails(proxied().delete(`/agent/runs/${run_id}`), { kind: sdk.ConflictError, status: 409, code: "conflict" });
  assert.equal(error.headers.get("x-should-retry"), "false");
  assert.equal(proxy.seen.length, 1);
  await client().agent.runs.cancel(run_id);
});

test("422 is UnprocessableEntityError: parts of the published API that are not offered", async () => {
  const refused = { kind: sdk.UnprocessableEntityError, status: 422, code: "operation_not_supported" };
  const { agent } = client();
  const schedule = { name: "n", cron_schedule: "0 9 * * *", prompt: "p", enabled: true };
  await fails(agent.run({ prompt: "x", mode: "plan" }), refused);
  await fails(agent.schedules.create({ ...schedule, mode: "plan" }), refused);
});

test("H-3 422 for a known field without a meaning here, instead of dropping what the caller sent", async () => {
  const images = [{ data: "aGVsbG8=", mime_type: "image/png" }];
  const refused = { kind: sdk.UnprocessableEntityError, status: 422, code: "operation_not_supported" };
  const error = await fails(client().agent.run({ prompt: "x", config: parked(unique("images")), images }), refused);
  assert.match(error.error.detail, /images/);
});

test("H-11 429 is RateLimitError with a Retry-After", async () => {
  const apiKey = await keyFor("viewer", { url: limitedServer });
  const limited = client({ url: limitedServer, apiKey, maxRetries: 0 });
  let error;
  for (let calls = 0; !error && calls < 100; calls++) error = await limited.agent.runs.list().then(() => undefined, (reason) => reason);
  await fails(Promise.reject(error), { kind: sdk.RateLimitError, status: 429, code: "resource_unavailable" });
  const wait = Number(error.headers.get("retry-after"));
  assert.ok(wait >= 1 && wait <= 60, `Retry-After: ${wait}`);
});

for (const [status, kind] of [
  [400, sdk.BadRequestError], [401, sdk.AuthenticationError], [403, sdk.PermissionDeniedError], [404, sdk.NotFoundError], [409, sdk.ConflictError],
  [422, sdk.UnprocessableEntityError], [429, sdk.RateLimitError], [500, sdk.InternalServerError], [503, sdk.InternalServerError],
]) {
  test(`injected ${status} becomes ${kind.name}`, async () => {
    await fails(proxied({ maxRetries: 0 }, { status }).agent.runs.list(), { kind, status });
    assert.equal(proxy.seen.length, 1);
  });
}

for (const status of [409, 500]) {
  test(`${status} with x-should-retry: false is not retried`, async () => {
    await fails(proxied({}, { status, headers: { "x-should-retry": "false" } }).agent.runs.list(), { kind: sdk.APIError, status });
    assert.equal(proxy.seen.length, 1);
  });

  test(`${status} without a word is retried twice`, async () => {
    await fails(proxied({}, { status, times: 3, headers: { "retry-after-ms": "1" } }).agent.runs.list(), { kind: sdk.APIError, status });
    assert.deepEqual(proxy.seen.map((request) => request.retry), [0, 1, 2]);
  });
}

test("429 with Retry-After is retried and then succeeds", async () => {
  const page = await proxied({}, { status: 429, times: 2, headers: { "retry-after": "0.05" } }).agent.runs.list({ limit: 1 });
  assert.ok(Array.isArray(page.runs));
  assert.deepEqual(proxy.seen.map((request) => request.status), [429, 429, 200]);
});

test("a dropped connection is retried and then succeeds", async () => {
  await proxied({}, { refuse: true }).agent.runs.list({ limit: 1 });
  assert.deepEqual(proxy.seen.map((request) => request.status), [0, 200]);
});

test("H-9 a lost answer is retried without a second run when the caller gives a key", async () => {
  const name = unique("lost");
  const options = { headers: { "Idempotency-Key": unique("key") } };
  const { run_id } = await proxied({}, { lose: true }).agent.run({ prompt: "once", config: parked(name) }, options);
  assert.deepEqual(proxy.seen.map((request) => request.status), [200, 200]);
  assert.deepEqual((await client().agent.runs.list({ name })).runs.map((run) => run.run_id), [run_id]);
});

test("the key is sent as a bearer token and nothing else", async () => {
  await proxied().agent.runs.list({ limit: 1 });
  assert.equal(proxy.seen[0].headers.authorization, `Bearer ${adminKey}`);
});
