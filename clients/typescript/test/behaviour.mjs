// Does the scenarios that every client has to pass: tests/clients/README.md. It runs in
// every runtime, so it imports nothing but the package.
import * as lineshaft from "lineshaft";

async function ask(script, path, body) {
  const init = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(script + path, init);
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response.json();
}

function clientOf({ base_url: baseURL, api_key: apiKey, client = {} }, options) {
  return new lineshaft.Lineshaft({
    baseURL,
    apiKey,
    backoff: { first: 1, longest: 5 },
    timeout: client.timeout_ms,
    maxRetries: client.max_retries,
    headers: client.headers,
    streamRetries: client.stream_retries,
    streamIdleTimeout: client.stream_idle_ms,
    ...options,
  });
}

/** Each op returns a promise of a value, or something to loop over. */
const ops = {
  "runs.create": (c, { body }, options) => c.runs.create(body, options),
  "runs.get": (c, { run_id }, options) => c.runs.get(run_id, {}, options),
  "runs.cancel": (c, { run_id }, options) => c.runs.cancel(run_id, {}, options),
  "runs.delete": (c, { run_id }, options) => c.runs.delete(run_id, options),
  "runs.rerun": (c, { run_id }, options) => c.runs.rerun(run_id, options),
  "runs.followup": (c, { run_id, body }, options) => c.runs.followup(run_id, body, options),
  "runs.list": (c, { query }, options) => c.runs.list(query, options).then(wirePage),
  "runs.list_all": (c, { query }, options) => looped(c.runs.list(query, options)),
  "runs.stream": (c, { run_id, after }, { signal }) => looped(c.runs.stream(run_id, { after, signal })),
  "runs.wait": (c, { run_id, interval_ms: interval, timeout_ms: timeout }, { signal }) => c.runs.wait(run_id, { interval, timeout, signal }),
  "factories.list_all": (c, { query }, options) => looped(c.factories.list(query, options)),
  "factories.run": (c, { factory_uid, body }, options) => c.factories.run(factory_uid, body, options),
  "server.whoami": (c, _, options) => c.server.whoami(options),
  get: (c, { path, query }, options) => c.get(path, { ...options, query }),
  post: (c, { path, query, body }, options) => c.post(path, body, { ...options, query }),
  put: (c, { path, query, body }, options) => c.put(path, body, { ...options, query }),
  patch: (c, { path, query, body }, options) => c.patch(path, body, { ...options, query }),
  delete: (c, { path, query }, options) => c.delete(path, { ...options, query }),
};

const looped = (items) => ({ items });

function wirePage(page) {
  return { runs: page.items, page_info: { has_next_page: page.nextCursor !== undefined, next_cursor: page.nextCursor } };
}

/** Does a call; what came before an error is kept in `came`. */
async function perform(client, call, came) {
  const options = {
    timeout: call.options?.timeout_ms,
    maxRetries: call.options?.max_retries,
    idempotencyKey: call.options?.idempotency_key,
    headers: call.options?.headers,
    signal: call.cancel_after_ms ? AbortSignal.timeout(call.cancel_after_ms) : undefined,
  };
  const result = ops[call.op](client, call.args ?? {}, options);
  if (call.raw) {
    const { data, response } = await result.withResponse();
    return { status: response.status, headers: Object.fromEntries(response.headers), value: data };
  }
  if (!result.items) return (await result) ?? null;
  for await (const item of result.items) {
    came.push(item);
    if (came.length === call.stop_after) break;
  }
  return came;
}

const kinds = [
  [lineshaft.BadRequestError, "bad_request"],
  [lineshaft.AuthenticationError, "authentication"],
  [lineshaft.PermissionDeniedError, "permission_denied"],
  [lineshaft.NotFoundError, "not_found"],
  [lineshaft.ConflictError, "conflict"],
  [lineshaft.PayloadTooLargeError, "too_large"],
  [lineshaft.UnprocessableError, "unprocessable"],
  [lineshaft.RateLimitError, "rate_limit"],
  [lineshaft.InternalServerError, "server"],
  [lineshaft.APIError, "status"],
  [lineshaft.AbortError, "cancelled"],
  [lineshaft.TimeoutError, "timeout"],
  [lineshaft.ConnectionError, "connection"],
  [lineshaft.InvalidAnswerError, "response"],
  [TypeError, "usage"],
];

function told(error) {
  const { status, code, detail, requestId: request_id, traceId: trace_id, retryAfter } = error;
  return {
    kind: kinds.find(([type]) => error instanceof type)?.[1] ?? "unknown",
    ...{ status, code, detail, request_id, trace_id },
    retry_after_ms: retryAfter === undefined ? undefined : retryAfter * 1000,
    message: `${error.message} ${error.stack}`,
  };
}

async function outcome(client, started) {
  const { times } = started.call;
  const came = [];
  try {
    if (!times) return { value: await perform(client, started.call, came) };
    for (let i = 0; i < times; i++) came.push(await perform(client, started.call, []));
    return { value: came };
  } catch (error) {
    return { value: came, error: told(error) };
  }
}

/** The names of all scenarios that the script server at an address has. */
export async function scenarios(script) {
  const { scenarios } = await ask(script, "/_/scenarios");
  return scenarios.map(({ name }) => name);
}

/** Does one, with further options of the client; returns what is wrong, or nothing. */
export async function behave(script, scenario, options = {}) {
  const started = await ask(script, "/_/start", { scenario });
  const client = clientOf(started, options);
  const verdict = await ask(script, "/_/finish", { id: started.id, ...(await outcome(client, started)) });
  void client; // it lives until the verdict: what a call has left open is open then
  return verdict.ok ? "" : `${verdict.problems?.join("\n")}\n${JSON.stringify(verdict.requests, null, 1)}`;
}

/** Does some at a time; returns what is wrong by scenario. */
export async function behaveAll(script, names, options) {
  const queue = [...names];
  const wrong = {};
  const worker = async () => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
      const problem = await behave(script, name, options);
      if (problem) wrong[name] = problem;
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return wrong;
}
