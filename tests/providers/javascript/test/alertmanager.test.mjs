// A real sender: Prometheus's Alertmanager, as Debian ships it, posts with a bearer
// token (W-8); what it sent is what the run gets (W-13).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { after, before, test } from "node:test";
import { Server, adminKey, keepPayload, patience, required } from "./support.mjs";

const server = new Server(required("LINESHAFT_PROVIDERS_URL"));
let factory, webhook, firing, program, alertmanager, witness;

/** Alertmanager posts to the webhook and, in the same words, to a witness of ours. */
const settings = (witnessURL) => `
route:
  receiver: lineshaft
  group_by: [alertname]
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: lineshaft
    webhook_configs:
      - url: ${webhook.ingress_url}
        http_config:
          authorization:
            credentials: ${webhook.secret}
      - url: ${witnessURL}
`;

/** A server that notes what is posted to it; next waits for one more. */
async function startWitness() {
  const notes = [];
  const waiting = [];
  const listener = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    response.writeHead(200).end();
    const body = Buffer.concat(chunks);
    if (waiting.length > 0) waiting.shift()(body);
    else notes.push(body);
  });
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  return {
    url: `http://127.0.0.1:${listener.address().port}/`,
    next: () => (notes.length > 0 ? notes.shift() : new Promise((resolve) => waiting.push(resolve))),
    stop: () => listener.close(),
  };
}

/** Starts Alertmanager on a free port, without its cluster, and reads the port from its log. */
async function startAlertmanager() {
  const folder = await mkdtemp(join(tmpdir(), "alertmanager-"));
  await writeFile(join(folder, "alertmanager.yml"), settings(witness.url), { mode: 0o600 });
  program = spawn(
    "prometheus-alertmanager",
    [`--config.file=${folder}/alertmanager.yml`, `--storage.path=${folder}/data`, "--web.listen-address=127.0.0.1:0", "--cluster.listen-address="],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  const failed = once(program, "error").then(([error]) => {
    throw new Error(`prometheus-alertmanager does not start (${error.message}); install it with: scripts/install-deps`);
  });
  const ready = (async () => {
    const said = [];
    for await (const line of createInterface(program.stderr)) {
      said.push(line);
      const address = /msg="Listening on".* address=(\S+)/.exec(line)?.[1];
      if (address) return `http://${address}`;
    }
    throw new Error(`prometheus-alertmanager ended: ${said.join("\n")}`);
  })();
  const address = await Promise.race([ready, failed]);
  failed.catch(() => {});
  program.stderr.resume();
  return address;
}

/** Opens the stream of the webhook's runs and yields each run when it first shows. */
async function followRuns() {
  const response = await fetch(`${server.address}/api/v1/agent/events/stream?webhook_id=${webhook.uid}`, {
    headers: { authorization: `Bearer ${adminKey}`, accept: "text/event-stream" },
    signal: AbortSignal.timeout(patience),
  });
  assert.equal(response.status, 200);
  const stream = Readable.fromWeb(response.body);
  return (async function* () {
    const seen = new Set();
    try {
      for await (const line of createInterface(stream)) {
        const id = line.startsWith("data: ") && JSON.parse(line.slice("data: ".length)).run_id;
        if (!id || seen.has(id)) continue;
        seen.add(id);
        yield id;
      }
    } finally {
      stream.destroy();
    }
  })();
}

async function alert(fields) {
  const response = await fetch(`${alertmanager}/api/v2/alerts`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify([fields]),
    signal: AbortSignal.timeout(patience),
  });
  assert.equal(response.status, 200, await response.text());
}

before(async () => {
  factory = await server.factory("alerts");
  webhook = await factory.webhook({ name: "alertmanager" });
  assert.equal(webhook.auth_mode, "token");
  await factory.automation("every notice", keepPayload, webhook);
  firing = await factory.automation("disks that fill up", keepPayload, webhook, '{"status":["firing"],"alerts":{"labels":{"alertname":["DiskFull"]}}}');
  witness = await startWitness();
  alertmanager = await startAlertmanager();
});

after(async () => {
  witness?.stop();
  if (!program?.pid || program.exitCode !== null) return;
  program.kill("SIGTERM");
  await once(program, "exit");
});

const labels = { alertname: "DiskFull", severity: "page", instance: "db-1 \"ø\"" };
const annotations = { summary: "97 % of /var is taken", runbook: "https://runbooks.example.com/disk?a=1&b=<2>" };
const startsAt = new Date(Date.now() - 60_000).toISOString();

/** The deliveries' runs with the bytes they got, by automation. */
async function payloads(runs, count) {
  const got = [];
  for (let i = 0; i < count; i++) {
    const { value } = await runs.next();
    const run = await server.call("GET", `/agent/runs/${value}`);
    got.push({ automation: run.metadata.automation_id, delivery: run.metadata.delivery_id, bytes: await server.payloadOf(value) });
  }
  return got;
}

test("an alert becomes a delivery and runs with its payload", async (t) => {
  const runs = await followRuns();

  await alert({ labels, annotations, startsAt });
  const fired = await payloads(runs, 2);
  const sent = await witness.next();
  const body = JSON.parse(sent);
  assert.deepEqual([body.version, body.status, body.receiver], ["4", "firing", "lineshaft"]);
  assert.deepEqual(body.alerts.map(({ status, labels, annotations }) => ({ status, labels, annotations })), [{ status: "firing", labels, annotations }]);
  assert.equal(new Set(fired.map(({ delivery }) => delivery)).size, 1, "one delivery started both runs");
  for (const { bytes } of fired) assert.equal(bytes.toString(), sent.toString());

  await alert({ labels, annotations, startsAt, endsAt: new Date(Date.now() - 1000).toISOString() });
  const [resolved] = await payloads(runs, 1);
  assert.equal(JSON.parse(resolved.bytes).status, "resolved");
  assert.equal(resolved.bytes.toString(), (await witness.next()).toString());
  assert.notEqual(resolved.delivery, fired[0].delivery);
  assert.notEqual(resolved.automation, firing.uid, "the filter asks for firing alerts");
  await runs.return();
  assert.equal((await server.runsOf(webhook)).length, 3);

  const metrics = await (await fetch(`${alertmanager}/metrics`)).text();
  t.diagnostic(`Alertmanager ${/alertmanager_build_info\{.*version="([^"]+)"/.exec(metrics)?.[1]}`);
  const of = (name) => Number(new RegExp(`^alertmanager_${name}\\{integration="webhook"\\} (\\d+)$`, "m").exec(metrics)?.[1]);
  assert.deepEqual([of("notifications_total"), of("notifications_failed_total")], [4, 0], "the sender is content with its answers");
});
