// A proxy that fails on purpose: it stands between a client and a server,
// notes every request, and answers the next ones as it is told. It gives the
// clients the errors that a healthy server has no route for.
//
// From Node: const proxy = await startProxy(target). From anything else:
// `node proxy.mjs TARGET` prints its address as the first line, takes faults by
// POST /__faults, shows its notes by GET /__seen, and ends with its standard input.
import http from "node:http";
import { pathToFileURL } from "node:url";

/**
 * A fault, used up by one request unless `times` says more:
 *   {status, headers?, body?}  answer this and ask nobody
 *   {lose: true}               let the server do its work, then drop the answer
 *   {refuse: true}             drop the connection before the server hears of it
 */
export async function startProxy(target) {
  const faults = [];
  const seen = [];
  const agent = new http.Agent({ keepAlive: true });
  const server = http.createServer((request, response) => {
    if (request.url.startsWith("/__")) return control(request, response, faults, seen);
    const fault = take(faults);
    const note = {
      method: request.method,
      url: request.url,
      retry: Number(request.headers["x-stainless-retry-count"] ?? 0),
      headers: request.headers,
      status: 0,
    };
    seen.push(note);
    if (fault?.refuse) return request.socket.destroy();
    if (fault?.status) return answer(request, response, fault, note);
    forward({ target, agent, request, response, note, lose: fault?.lose });
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    seen,
    fail: (...list) => faults.push(...list.map((fault) => ({ ...fault }))),
    reset: () => {
      faults.length = 0;
      seen.length = 0;
    },
    close: () =>
      new Promise((done) => {
        server.close(done);
        server.closeAllConnections();
        agent.destroy();
      }),
  };
}

function take(faults) {
  const fault = faults[0];
  if (!fault) return undefined;
  fault.times = (fault.times ?? 1) - 1;
  if (fault.times <= 0) faults.shift();
  return fault;
}

function answer(request, response, fault, note) {
  note.status = fault.status;
  request.resume();
  request.on("end", () => {
    response.writeHead(fault.status, { "content-type": "application/problem+json", ...fault.headers });
    response.end(JSON.stringify(fault.body ?? problem(fault.status)));
  });
}

// problem is an error body as a server of this API writes it.
function problem(status) {
  return { type: "about:blank", title: `Injected ${status}`, status, error: `Injected ${status}`, code: "injected" };
}

function forward({ target, agent, request, response, note, lose }) {
  const url = new URL(request.url, target);
  const upstream = http.request(url, { method: request.method, headers: request.headers, agent }, (got) => {
    note.status = got.statusCode;
    if (lose) {
      got.resume();
      got.on("end", () => request.socket.destroy());
      return;
    }
    response.writeHead(got.statusCode, got.headers);
    got.pipe(response);
  });
  upstream.on("error", () => request.socket.destroy());
  response.on("close", () => upstream.destroy());
  request.pipe(upstream);
}

function control(request, response, faults, seen) {
  const say = (value) => response.end(JSON.stringify(value));
  if (request.method === "GET") return say(seen);
  let text = "";
  request.on("data", (chunk) => (text += chunk));
  request.on("end", () => {
    faults.length = 0;
    seen.length = 0;
    faults.push(...JSON.parse(text));
    say({ faults: faults.length });
  });
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const proxy = await startProxy(process.argv[2]);
  console.log(proxy.url);
  process.stdin.on("end", () => proxy.close()).resume();
}
