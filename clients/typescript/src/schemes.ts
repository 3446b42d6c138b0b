import type { SignatureScheme, WebhookHMAC } from "./generated/types.js";

/** What makes a signature; "token" is the secret itself. */
export type Digest = "SHA-1" | "SHA-256" | "SHA-384" | "SHA-512" | "Ed25519" | "token";

/** What a secret is: its text, the bytes behind whsec_, or a private Ed25519 key. */
export type KeyKind = "text" | "shared" | "private";

/** One way to sign. */
export interface Rule {
  /** Carries the signature. */
  header: string;
  /** Stands before it. */
  prefix?: string;
  digest: Digest;
  encoding?: "hex" | "base64";
  /** What is signed: {body}, {timestamp}, {id}, {method}, {url}, {form} and {hashed_url}. */
  signed: string;
  /** Carries the time. */
  stamp?: Stamp;
  /** Carries the id that is signed. */
  id?: string;
  key?: KeyKind;
  /** For bodies of this kind only. */
  contentType?: string;
}

/** Where the time is: in a header, before the signature (with what separates them), or in the body. */
export interface Stamp {
  header?: string;
  item?: string;
  body?: string;
  milliseconds?: boolean;
}

/** How one provider signs: the first rule that fits the secret and the body. */
export interface Scheme {
  rules: Rule[];
  /** Carries the delivery id where it is not signed. */
  id?: string;
}

const plain: Rule = { header: "", digest: "SHA-256", encoding: "hex", signed: "{body}" };

const stamped = (header: string): Rule => ({ ...plain, header, prefix: "v1=", signed: "{timestamp}.{body}", stamp: { item: "t" } });

const standard: Rule = {
  header: "webhook-signature",
  prefix: "v1,",
  digest: "SHA-256",
  encoding: "base64",
  signed: "{id}.{timestamp}.{body}",
  stamp: { header: "webhook-timestamp" },
  id: "webhook-id",
  key: "shared",
};

/** Every scheme but hmac, which has settings. */
export const schemes: Record<Exclude<SignatureScheme, "hmac">, Scheme> = {
  bitbucket: { rules: [{ ...plain, header: "X-Hub-Signature", prefix: "sha256=" }], id: "X-Request-UUID" },
  buildkite: {
    rules: [{ ...plain, header: "X-Buildkite-Signature", prefix: "signature=", signed: "{timestamp}.{body}", stamp: { item: "timestamp" } }],
  },
  calendly: { rules: [stamped("Calendly-Webhook-Signature")] },
  circleci: { rules: [{ ...plain, header: "Circleci-Signature", prefix: "v1=" }] },
  discord: {
    rules: [
      {
        header: "X-Signature-Ed25519",
        digest: "Ed25519",
        encoding: "hex",
        signed: "{timestamp}{body}",
        stamp: { header: "X-Signature-Timestamp" },
        key: "private",
      },
    ],
  },
  dropbox: { rules: [{ ...plain, header: "X-Dropbox-Signature" }] },
  github: { rules: [{ ...plain, header: "X-Hub-Signature-256", prefix: "sha256=" }], id: "X-GitHub-Delivery" },
  gitlab: { rules: [standard, { header: "X-Gitlab-Token", digest: "token", signed: "" }], id: "Idempotency-Key" },
  grafana: {
    rules: [
      { ...plain, header: "X-Grafana-Alerting-Signature", signed: "{timestamp}:{body}", stamp: { header: "X-Grafana-Alerting-Timestamp" } },
    ],
  },
  hubspot: {
    rules: [
      {
        header: "X-HubSpot-Signature-v3",
        digest: "SHA-256",
        encoding: "base64",
        signed: "{method}{url}{body}{timestamp}",
        stamp: { header: "X-HubSpot-Request-Timestamp", milliseconds: true },
      },
    ],
  },
  intercom: { rules: [{ ...plain, header: "X-Hub-Signature", prefix: "sha1=", digest: "SHA-1" }] },
  jira: { rules: [{ ...plain, header: "X-Hub-Signature", prefix: "sha256=" }], id: "X-Atlassian-Webhook-Identifier" },
  linear: { rules: [{ ...plain, header: "Linear-Signature", stamp: { body: "webhookTimestamp", milliseconds: true } }], id: "Linear-Delivery" },
  pagerduty: { rules: [{ ...plain, header: "X-PagerDuty-Signature", prefix: "v1=" }], id: "X-Webhook-Id" },
  sentry: { rules: [{ ...plain, header: "Sentry-Hook-Signature" }] },
  shopify: { rules: [{ ...plain, header: "X-Shopify-Hmac-Sha256", encoding: "base64" }], id: "X-Shopify-Webhook-Id" },
  slack: {
    rules: [
      { ...plain, header: "X-Slack-Signature", prefix: "v0=", signed: "v0:{timestamp}:{body}", stamp: { header: "X-Slack-Request-Timestamp" } },
    ],
  },
  square: { rules: [{ ...plain, header: "X-Square-Hmacsha256-Signature", encoding: "base64", signed: "{url}{body}" }] },
  standard_webhooks: { rules: [standard, { ...standard, digest: "Ed25519", prefix: "v1a,", key: "private" }] },
  stripe: { rules: [stamped("Stripe-Signature")] },
  twilio: {
    rules: [
      {
        header: "X-Twilio-Signature",
        digest: "SHA-1",
        encoding: "base64",
        signed: "{url}{form}",
        contentType: "application/x-www-form-urlencoded",
      },
      { header: "X-Twilio-Signature", digest: "SHA-1", encoding: "base64", signed: "{hashed_url}" },
    ],
    id: "I-Twilio-Idempotency-Token",
  },
  typeform: { rules: [{ ...plain, header: "Typeform-Signature", prefix: "sha256=", encoding: "base64" }] },
  vercel: { rules: [{ ...plain, header: "X-Vercel-Signature", digest: "SHA-1" }] },
  zoom: {
    rules: [{ ...plain, header: "X-Zm-Signature", prefix: "v0=", signed: "v0:{timestamp}:{body}", stamp: { header: "X-Zm-Request-Timestamp" } }],
  },
};

const digests: Record<string, Digest> = { sha1: "SHA-1", sha256: "SHA-256", sha384: "SHA-384", sha512: "SHA-512" };

const encodings: Record<string, "hex" | "base64"> = { hex: "hex", base64: "base64" };

/** Makes the scheme that the settings of hmac describe; they are those of the webhook. */
export function settled(settings: WebhookHMAC | undefined): Scheme {
  if (!settings?.header) throw new TypeError("The scheme hmac needs its settings: give hmac, at least its header.");
  const { header, prefix = "", template, timestamp_header: stamp, id_header: id } = settings;
  const digest = digests[settings.digest || "sha256"];
  const encoding = encodings[settings.encoding || "hex"];
  const signed = template || "{body}";
  if (digest === undefined) throw new TypeError("Unknown digest: use sha1, sha256, sha384 or sha512.");
  if (encoding === undefined) throw new TypeError("Unknown encoding: use hex or base64.");
  if (!signed.includes("{body}")) throw new TypeError("The signature must cover the body: put {body} in the template.");
  if (signed.includes("{timestamp}") && !stamp) throw new TypeError("The template has {timestamp}: name its timestamp_header.");
  if (signed.includes("{id}") && !id) throw new TypeError("The template has {id}: name its id_header.");
  const rule: Rule = { header, prefix, digest, encoding, signed };
  if (stamp) rule.stamp = { header: stamp };
  if (id && signed.includes("{id}")) rule.id = id;
  return id ? { rules: [rule], id } : { rules: [rule] };
}
