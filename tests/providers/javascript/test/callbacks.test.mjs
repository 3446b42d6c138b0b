// The other way round: what the server sends to an endpoint verifies with the published
// standardwebhooks libraries, and nothing else does (section C of the specification).
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Server, patience, required } from "./support.mjs";

const server = new Server(required("LINESHAFT_PROVIDERS_URL"));
const programs = {
  npm: [process.execPath, fileURLToPath(new URL("../sign.mjs", import.meta.url))],
  Go: [required("LINESHAFT_PROVIDERS_SIGN_GO")],
  PyPI: [required("LINESHAFT_PROVIDERS_PYTHON"), fileURLToPath(new URL("../../python/sign.py", import.meta.url))],
};

const arrived = [];
let receiver, endpoint, rotated, run;

/** Waits until so many callbacks have arrived. */
async function callbacks(count) {
  const end = Date.now() + patience;
  while (arrived.length < count) {
    assert.ok(Date.now() < end, `${arrived.length} of ${count} callbacks arrived`);
    await new Promise((resolve) => receiver.once("arrived", resolve));
  }
}

before(async () => {
  receiver = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(204).end();
    const picked = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, request.headers[name]]);
    arrived.push({ headers: Object.fromEntries(picked), body: Buffer.concat(chunks).toString() });
    receiver.emit("arrived");
  });
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  endpoint = await server.call("POST", "/notifications", { url: `http://127.0.0.1:${receiver.address().port}/`, run_name: "callbacks" });
  rotated = await server.call("POST", `/notifications/${endpoint.id}/rotate`, { overlap_seconds: 600 });
  const prompt = ["Say it in any script: grün, 緑, 🟢.", "```sh", "true", "```"].join("\n");
  run = await server.ended((await server.call("POST", "/agent/runs", { prompt, title: "grün, 緑, 🟢 <&>", config: { name: "callbacks" } })).run_id);
  await callbacks(5);
});

after(async () => {
  await server.call("DELETE", `/notifications/${endpoint.id}`);
  receiver.close();
});

/** What a library says to requests with their headers: nothing, or why it refuses. */
function verdicts(from, requests) {
  const [program, ...args] = programs[from];
  const done = spawnSync(program, args, { input: JSON.stringify({ library: "standardwebhooks", requests }), encoding: "utf8", timeout: patience });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout).headers.map(({ refused }) => refused);
}

test("C-1 each state change of the run arrived once, under the id of its event", async () => {
  const { events } = await server.call("GET", `/agent/runs/${run.run_id}/events`);
  const changes = events.filter(({ type }) => type === "state");
  assert.deepEqual(arrived.map(({ headers }) => headers["webhook-id"]).sort(), changes.map(({ id }) => id).sort());
  for (const { headers, body } of arrived) {
    const { type, data } = JSON.parse(body);
    const change = changes.find(({ id }) => id === headers["webhook-id"]);
    assert.equal(type, "run.state_changed");
    assert.deepEqual([data.event_id, data.sequence, data.state, data.title], [change.id, change.sequence, change.data.to, run.title]);
  }
});

for (const from of Object.keys(programs)) {
  test(`C-1 ${from} standardwebhooks takes every callback, by either secret`, () => {
    const requests = arrived.flatMap((one) => [endpoint.secret, rotated.secret].map((secret) => ({ ...one, secret })));
    assert.deepEqual(verdicts(from, requests), requests.map(() => undefined));
  });

  test(`C-1 ${from} standardwebhooks refuses what was changed on the way`, () => {
    const [one] = arrived;
    const { headers, body } = one;
    const later = String(Number(headers["webhook-timestamp"]) + 1);
    const requests = [
      { headers, body: body.replace("run.state_changed", "run.state_Changed"), secret: endpoint.secret },
      { headers: { ...headers, "webhook-id": `${headers["webhook-id"]}0` }, body, secret: endpoint.secret },
      { headers: { ...headers, "webhook-timestamp": later }, body, secret: endpoint.secret },
      { ...one, secret: "whsec_c2l4dGVlbiBieXRlcyBhcmUgbm90IGVub3VnaCE=" },
    ];
    for (const [at, refused] of verdicts(from, requests).entries()) assert.ok(refused, `request ${at} is taken`);
  });
}
