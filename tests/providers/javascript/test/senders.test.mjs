// Requests that the providers' own libraries signed: taken as they are, refused
// when one bit differs (W-6, W-9, W-10, W-13).
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { flipsOf, perWebhook, sendFlips } from "./flips.mjs";
import { Server, keepPayload, required, together } from "./support.mjs";
import { Wire } from "./wire.mjs";

const server = new Server(required("LINESHAFT_PROVIDERS_URL"));
const programs = {
  npm: [process.execPath, fileURLToPath(new URL("../sign.mjs", import.meta.url))],
  Go: [required("LINESHAFT_PROVIDERS_SIGN_GO")],
  PyPI: [required("LINESHAFT_PROVIDERS_PYTHON"), fileURLToPath(new URL("../../python/sign.py", import.meta.url))],
};

// Which headers a scheme signs, and what they are. GitHub sends its id unsigned;
// Stripe has it in the body.
const schemes = {
  svix: { scheme: "standard_webhooks", signed: { "svix-id": "id", "svix-timestamp": "time", "svix-signature": "signature" } },
  standardwebhooks: { scheme: "standard_webhooks", signed: { "webhook-id": "id", "webhook-timestamp": "time", "webhook-signature": "signature" } },
  stripe: { scheme: "stripe", signed: { "stripe-signature": (offset) => (offset < "t=1234567890".length ? "time" : "signature") } },
  "@octokit/webhooks-methods": { scheme: "github", signed: { "x-hub-signature-256": "signature" } },
};

const senders = [
  ...["svix", "standardwebhooks", "stripe", "@octokit/webhooks-methods"].map((library) => ({ from: "npm", library })),
  ...["stripe", "svix", "standardwebhooks"].map((library) => ({ from: "Go", library })),
  ...["standardwebhooks", "stripe", "svix"].map((library) => ({ from: "PyPI", library })),
];
// One library per language, every scheme among them, where time is short.
const few = ["npm @octokit/webhooks-methods", "Go stripe", "PyPI svix"];
const chosen = process.env.LINESHAFT_PROVIDERS_FEW ? senders.filter(({ from, library }) => few.includes(`${from} ${library}`)) : senders;

// What refuses a flipped bit is one piece of code for each scheme, whoever signed and
// whatever the engine: on SQLite the four of npm, which have every scheme and every set
// of headers, have each bit flipped, the others each seventh. A step that shares a factor
// with eight would meet the same bits of every byte.
const every = ({ from }) => (process.env.LINESHAFT_SOAK || (from === "npm" && !process.env.LINESHAFT_PROVIDERS_FEW) ? 1 : 7);

/** How many webhooks it takes to refuse all flipped bits of one request within a minute. */
const webhookCount = 4;

/** Bodies that only raw bytes survive: spaces, escapes, numbers, repeated keys, size. */
const push = createRequire(import.meta.url)("@octokit/webhooks-examples").find(({ name }) => name === "push").examples[0];
const bodies = (word) => [
  `{"id":"evt_${word}","type":"ping.é","n":1.50}`,
  ` {\r\n\t"id" : "odd_${word}", "id2": 12345678901234567890, "\\u0061": -0.0e+1,\n "a": "\\ud83d\\ude00 😀 \\/ \u2028", "a": [ ] }\n`,
  JSON.stringify({ id: `big_${word}`, text: "größer ✓ ".repeat(16_000) }),
  JSON.stringify(push),
  `[{"id":"${word}"}, null, true, 0.1]`,
];

/** Hands an order to the library in its own language. */
function sign(from, library, requests) {
  const [program, ...args] = programs[from];
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      error ? reject(new Error(`${from} ${library}: ${error.message}\n${stderr}`)) : resolve(JSON.parse(stdout)),
    );
    child.stdin.end(JSON.stringify({ library, requests }));
  });
}

/** A webhook of the scheme, with its secret. Stripe issues secrets itself, when it knows the address. */
async function webhookFor(factory, scheme, name) {
  const settings = { name, auth_mode: "signature", signature_scheme: scheme, rate_limit: 0 };
  switch (scheme) {
    case "standard_webhooks": {
      const made = await factory.webhook(settings);
      assert.match(made.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      return made;
    }
    case "stripe": {
      const made = await factory.webhook(settings);
      assert.deepEqual([made.needs_secret, made.enabled, made.secret], [true, false, undefined]);
      const secret = `whsec_${randomBytes(16).toString("hex")}`;
      const known = await factory.rotate(made, { secret });
      assert.deepEqual([known.needs_secret, known.enabled, known.secret], [false, true, undefined]);
      return { ...known, secret };
    }
    default: {
      const secret = `It's a secret: ${randomBytes(18).toString("base64")}`;
      const made = await factory.webhook({ ...settings, secret });
      assert.equal(made.secret, undefined, "the server shows a secret that somebody chose");
      return { ...made, secret };
    }
  }
}

/** What is sent: the headers in a fixed order, as bytes. */
const requestOf = (headers, body) => ({
  headers: [["Content-Type", Buffer.from("application/json")], ...Object.entries(headers).map(([name, value]) => [name, Buffer.from(value)])],
  body: Buffer.from(body),
});

/** Sends a request once more than needed; both answers must name the same delivery. */
async function accepted(url, { headers, body }) {
  const wire = new Wire(url);
  const first = await wire.post(headers, body);
  assert.equal(first.status, 202, first.body);
  assert.deepEqual(await wire.post(headers, body), first, "the same request again is the same delivery");
  wire.close();
  return JSON.parse(first.body).delivery_id;
}

const sums = {};
let runs = 0;

chosen.forEach((sender, index) => {
  const { from, library } = sender;
  test(`${from} ${library}`, async (t) => {
    const { scheme, signed } = schemes[library];
    const texts = bodies(`${from}${index}`);
    const factory = await server.factory(`${from} ${library}`);
    const now = Math.floor(Date.now() / 1000);
    const order = (secret, body) => ({ secret, body, time: now, id: `msg_${createHash("sha256").update(body).digest("hex").slice(0, 12)}` });

    const webhooks = [];
    for (let i = 0; i < webhookCount; i++) webhooks.push(await webhookFor(factory, scheme, `${scheme} ${i}`));
    const [first, ...others] = webhooks;
    const automation = await factory.automation("keep", keepPayload, first);

    const { version, headers } = await sign(from, library, [
      ...texts.map((text) => order(first.secret, text)),
      ...others.map(({ secret }) => order(secret, texts[0])),
    ]);
    const requests = headers.map((header, i) => requestOf(header, texts[i] ?? texts[0]));
    const toWebhook = [requests[0], ...requests.slice(texts.length)];
    const flips = flipsOf(requests[0], signed).filter((_, n) => (n + index) % every(sender) === 0);
    const parts = new Set(flips.map(({ part }) => part));
    const bits = new Set(flips.map(({ part, bit }) => `${part} ${bit % 8}`));
    assert.equal(bits.size, parts.size * 8, `a bit of the bytes is left out: ${[...bits].sort().join(", ")}`);
    assert.ok(flips.length <= webhookCount * perWebhook, `${flips.length} flipped bits need more webhooks`);
    t.diagnostic(`${from} ${library} ${version}: ${flips.length} flipped bits over ${webhookCount} webhooks`);

    const share = Math.ceil(flips.length / webhookCount);
    await t.test("a flipped bit is 401", async () => {
      const wrong = await together(4, webhooks, ({ ingress_url: url }, i) =>
        sendFlips(url, toWebhook[i], flips.slice(i * share, (i + 1) * share), (source) => `127.${index + 1}.${i + 1}.${source + 1}`),
      );
      assert.deepEqual(wrong.flat(), []);
      assert.deepEqual(await server.runsOf(first), [], "a refused request started a run");
      for (const { part } of flips) sums[part] = (sums[part] ?? 0) + 1;
    });

    await t.test("as signed it is 202, on webhooks that refused many before", async () => {
      for (const [i, { ingress_url: url }] of webhooks.entries()) await accepted(url, toWebhook[i]);
    });

    await t.test("each starts one run, which gets the bytes that were sent", async () => {
      const ids = [];
      for (const request of requests.slice(0, texts.length)) ids.push(await accepted(first.ingress_url, request));
      const found = await server.runsOf(first);
      assert.deepEqual(found.map(({ metadata }) => metadata.delivery_id).sort(), ids.toSorted());
      await Promise.all(
        found.map(async ({ run_id, source, metadata }) => {
          assert.equal(source, "CUSTOM_WEBHOOK");
          assert.equal(metadata.automation_id, automation.uid);
          const payload = await server.payloadOf(run_id);
          assert.ok(payload.equals(Buffer.from(texts[ids.indexOf(metadata.delivery_id)])), "event-payload.json differs from what was sent");
        }),
      );
      runs += found.length;
    });
  });
});

after(() => {
  const total = Object.values(sums).reduce((a, b) => a + b, 0);
  console.log(`flipped bits refused: ${total} (${Object.entries(sums).map(([part, n]) => `${part} ${n}`).join(", ")}); runs that got the sent bytes: ${runs}`);
});
