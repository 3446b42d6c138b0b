import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import test from "node:test";
import { sign } from "lineshaft/webhooks";
import { schemes } from "../dist/esm/schemes.js";

const vectors = JSON.parse(readFileSync(new URL("../../../internal/signature/testdata/vectors.json", import.meta.url), "utf8"));

// Names that vectors use for parts of a scheme.
const named = {
  standard_webhooks_v1a: "standard_webhooks",
  gitlab_signing_token: "gitlab",
  gitlab_token: "gitlab",
  hubspot_v3: "hubspot",
};

// Ways that receivers know but that no sender should choose today.
const otherWays = new Set(["svix", "hubspot_v1"]);

function optionsOf(vector) {
  return {
    scheme: named[vector.scheme] ?? vector.scheme,
    secret: vector.signing_key ?? vector.private_seed_hex ?? vector.secret,
    body: vector.body,
    id: vector.delivery_id,
    url: vector.url,
    time: new Date(vector.now * 1000),
    contentType: vector.headers["Content-Type"],
  };
}

/** The first signature is ours; some vectors have those of further secrets behind it. */
function same(got, want, name) {
  return want === got || want.split(/[ ,]/).includes(got.split(/[ ,]/).pop()) || assert.equal(got, want, name);
}

const accepted = vectors.filter((vector) => vector.expect === "accept" && !otherWays.has(vector.scheme));

for (const vector of accepted) {
  test(`I3 signs as the provider does: ${vector.name}`, async () => {
    const headers = await sign(optionsOf(vector));
    const sent = new Headers(vector.headers);
    for (const [name, value] of Object.entries(headers)) same(value, sent.get(name) ?? "missing", `${vector.name}: ${name}`);
  });
}

test("I3 every scheme has a vector", () => {
  const seen = new Set(accepted.map((vector) => named[vector.scheme] ?? vector.scheme));
  assert.deepEqual([...seen].sort(), Object.keys(schemes).sort());
});

const base = { body: "{}", time: new Date(1_700_000_000_000) };

test("I3 hmac signs what its settings say", async () => {
  const hmac = {
    header: "X-Sig",
    prefix: "v1,",
    digest: "sha512",
    template: "{method} {url} {id}.{timestamp}.{body}",
    timestamp_header: "X-Time",
    id_header: "X-Id",
  };
  const headers = await sign({ ...base, scheme: "hmac", secret: "s", hmac, id: "7", url: "https://a.example/" });
  const { createHmac } = await import("node:crypto");
  const want = createHmac("sha512", "s").update("POST https://a.example/ 7.1700000000.{}").digest("hex");
  assert.deepEqual(headers, { "X-Id": "7", "X-Time": "1700000000", "X-Sig": `v1,${want}` });
});

test("I3 a mistake in signing is told without the secret", async () => {
  const mistakes = [
    [{ scheme: "nope", secret: "s3cret" }, /Unknown scheme: use one of bitbucket/],
    [{ scheme: "constructor", secret: "s3cret" }, /Unknown scheme/],
    [{ scheme: "github", secret: "" }, /empty/],
    [{ scheme: "github", secret: " s3cret" }, /white space/],
    [{ scheme: "standard_webhooks", secret: "whsec_s3cret!" }, /base64/],
    [{ scheme: "standard_webhooks", secret: "whsec_AAAA" }, /least that is safe/],
    [{ scheme: "standard_webhooks", secret: "whpk_AAAA" }, /private one/],
    [{ scheme: "standard_webhooks", secret: `whsec_${"A".repeat(32)}`, id: "a.b" }, /without a dot/],
    [{ scheme: "discord", secret: "00" }, /private Ed25519 key/],
    [{ scheme: "square", secret: "s3cret" }, /signs the address/],
    [{ scheme: "linear", secret: "s3cret" }, /webhookTimestamp/],
    [{ scheme: "hmac", secret: "s3cret" }, /needs its settings/],
    [{ scheme: "hmac", secret: "s3cret", hmac: { header: "X", template: "{body}{nope}" } }, /\{nope\} is unknown/],
    [{ scheme: "hmac", secret: "s3cret", hmac: { header: "X", template: "{id}" } }, /cover the body/],
    [{ scheme: "hmac", secret: "s3cret", hmac: { header: "X", digest: "md5" } }, /Unknown digest/],
  ];
  for (const [options, message] of mistakes) {
    await assert.rejects(sign({ ...base, ...options }), (error) => message.test(error.message) && !error.message.includes("s3cret"), String(message));
  }
});

test("I3 an id is made where a scheme signs one, each time another", async () => {
  const options = { ...base, scheme: "standard_webhooks", secret: `whsec_${"A".repeat(32)}` };
  const [one, two] = [await sign(options), await sign(options)];
  assert.match(one["webhook-id"], /^msg_[0-9a-f]{32}$/);
  assert.notEqual(one["webhook-id"], two["webhook-id"]);
});

test("I3 a form is signed by its bytes: their order, a mark, a question mark and what is not UTF-8", async () => {
  const url = "https://example.com/hook";
  const secret = "the token";
  const of = (body) => sign({ scheme: "twilio", secret, body, url, contentType: "application/x-www-form-urlencoded" });
  const want = (...parts) => ({ "X-Twilio-Signature": createHmac("sha1", secret).update(Buffer.concat([url, ...parts].map((part) => Buffer.from(part)))).digest("base64") });
  assert.deepEqual(await of("\u{1f682}=2&\uff5e=1&a+b=%2b&a+b=%2B"), want("a b+", "\uff5e1", "\u{1f682}2"));
  assert.deepEqual(await of("?a=1&b=x=y&&c"), want("?a1", "bx=y", "c"));
  assert.deepEqual(await of("\ufeffa=1"), want("\ufeffa1"));
  assert.deepEqual(await of(Uint8Array.of(0x61, 0x3d, 0xff, 0x25, 0x66, 0x65)), want("a", Uint8Array.of(0xff, 0xfe)));
});
