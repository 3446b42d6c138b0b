import assert from "node:assert/strict";
import test from "node:test";
import { CallbackError, verifyCallback } from "lineshaft/callbacks";
import { sign } from "lineshaft/webhooks";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const now = new Date(1_700_000_000_000);
const body = JSON.stringify({ type: "run.state_changed", timestamp: "2023-11-14T22:13:20Z", data: { run_id: "r1", state: "SUCCEEDED" } });

function signed(options = {}) {
  return sign({ scheme: "standard_webhooks", secret, body, id: "evt_1", time: now, ...options });
}

test("I3 a callback is verified and typed", async () => {
  const headers = await signed();
  const foreign = { get: (name) => new Headers(headers).get(name) }; // as other packages and realms have them
  const forms = [headers, new Headers(headers), foreign, upper(headers), { ...headers, accept: ["a", "b"] }];
  for (const form of forms) {
    const event = await verifyCallback(secret, form, body, { now });
    assert.equal(event.type, "run.state_changed");
    assert.equal(event.data.state, "SUCCEEDED");
  }
  const bytes = new TextEncoder().encode(body);
  for (const raw of [bytes, bytes.buffer, Buffer.from(body)]) await verifyCallback(secret, headers, raw, { now });
});

function upper(headers) {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
}

test("I3 any of several signatures and secrets will do", async () => {
  const [mine, theirs] = [await signed(), await signed({ secret: other })];
  const both = { ...mine, "webhook-signature": `v2,x v1a,AAAA ${theirs["webhook-signature"]} ${mine["webhook-signature"]}` };
  await verifyCallback(secret, both, body, { now });
  await verifyCallback(other, both, body, { now });
  await verifyCallback([other, secret], mine, body, { now });
});

test("I3 what is not authentic is refused", async () => {
  const headers = await signed();
  const late = (seconds) => ({ now: new Date(now.getTime() + seconds * 1000) });
  await verifyCallback(secret, headers, body, late(300));
  await verifyCallback(secret, headers, body, late(-300));
  const wrong = [
    [other, headers, body],
    [secret, headers, body + " "],
    [secret, { ...headers, "webhook-id": "evt_2" }, body],
    [secret, { ...headers, "webhook-id": "evt.1" }, body],
    [secret, { ...headers, "webhook-id": undefined }, body],
    [secret, { ...headers, "Webhook-Id": "evt_1" }, body],
    [secret, { ...headers, "webhook-timestamp": "1700000001" }, body],
    [secret, { ...headers, "webhook-timestamp": "01700000000" }, body],
    [secret, { ...headers, "webhook-timestamp": "1.7e9" }, body],
    [secret, { ...headers, "webhook-signature": "" }, body],
    [secret, { ...headers, "webhook-signature": "v1," }, body],
    [secret, { ...headers, "webhook-signature": headers["webhook-signature"].slice(3) }, body],
    [secret, { ...headers, "webhook-signature": `${"v1,AAAA ".repeat(16)}${headers["webhook-signature"]}` }, body],
    [secret, headers, body, late(301)],
    [secret, headers, body, late(-301)],
  ];
  for (const [key, sent, text, options = { now }] of wrong) {
    await assert.rejects(verifyCallback(key, sent, text, options), CallbackError);
  }
});

test("I3 a signed body that is not JSON is refused", async () => {
  await assert.rejects(verifyCallback(secret, await signed({ body: "{" }), "{", { now }), CallbackError);
});

test("I3 a secret that protects nothing is refused, and not repeated", async () => {
  for (const bad of ["", "whsec_", "whsec_AAAA", "whsec_not base64!"]) {
    const check = verifyCallback(bad, await signed(), body, { now });
    await assert.rejects(check, (error) => error instanceof TypeError && (bad.length < 8 || !error.message.includes(bad)));
  }
});
