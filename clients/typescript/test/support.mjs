// A server that answers as a test tells it, and clients that do not wait long.
import { createServer } from "node:http";
import { once } from "node:events";
import { Lineshaft } from "lineshaft";

export const key = "ls_a-key-that-must-not-be-seen";

/**
 * Starts a server on a free port. Each request is noted and given to the next of the
 * answers, the last one again and again.
 */
export async function scripted(t, ...answers) {
  const requests = [];
  const open = new Set(); // requests whose connection the client still holds
  const server = createServer(async (request, response) => {
    open.add(response);
    response.on("close", () => open.delete(response));
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const noted = { method: request.method, url: request.url, headers: request.headers, body: Buffer.concat(chunks).toString() };
    requests.push(noted);
    const answer = answers[Math.min(requests.length, answers.length) - 1];
    await answer(response, noted, requests.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests, open };
}

/** A client of a scripted server. */
export function clientOf(server, options = {}) {
  return new Lineshaft({ baseURL: server.url, apiKey: key, backoff: { first: 1, longest: 5 }, ...options });
}

export function json(value, status = 200, headers = {}) {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
}

export function problem(status, headers = {}, fields = {}) {
  return json({ title: "No", detail: "because", code: "some_code", trace_id: "t1", ...fields }, status, { "x-request-id": "q1", ...headers });
}

/** Hangs up without an answer. */
export const cut = (response) => response.destroy();

/** Never answers. */
export const silence = () => {};

export const run = (id = "r1", state = "SUCCEEDED") => ({ run_id: id, state, title: id });

/** Waits until something is so; the test's own time-out is the end of it. */
export async function until(condition) {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}
