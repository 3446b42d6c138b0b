// Signs webhook requests with the providers' own npm libraries. One order comes as
// JSON on standard input; the headers of each request go to standard output. Every
// signature was accepted by the library that made it. A request that has headers already
// is checked instead: the answer tells whether the library takes them.
import { readFileSync } from "node:fs";

const standard = async (library, prefix) => {
  const { Webhook } = await import(library);
  return ({ secret, id, time, body, headers: given }) => {
    const webhook = new Webhook(secret);
    if (given) {
      try {
        webhook.verify(body, given);
      } catch (error) {
        return { refused: error.message };
      }
      return {};
    }
    const signature = webhook.sign(id, new Date(time * 1000), body);
    const headers = { [`${prefix}-id`]: id, [`${prefix}-timestamp`]: String(time), [`${prefix}-signature`]: signature };
    webhook.verify(body, headers);
    return headers;
  };
};

const libraries = {
  svix: () => standard("svix", "svix"),
  standardwebhooks: () => standard("standardwebhooks", "webhook"),
  stripe: async () => {
    const { default: Stripe } = await import("stripe");
    const { webhooks } = new Stripe("sk_test_unused");
    return ({ secret, time, body }) => {
      const header = webhooks.generateTestHeaderString({ payload: body, secret, timestamp: time });
      webhooks.signature.verifyHeader(body, header, secret, 300);
      return { "stripe-signature": header };
    };
  },
  "@octokit/webhooks-methods": async () => {
    const { sign, verify } = await import("@octokit/webhooks-methods");
    return async ({ secret, id, body }) => {
      const signature = await sign(secret, body);
      if (!(await verify(secret, body, signature))) throw new Error("the library refuses its own signature");
      return { "x-hub-signature-256": signature, "x-github-delivery": id, "x-github-event": "push" };
    };
  },
};

const order = JSON.parse(readFileSync(0, "utf8"));
const sign = await libraries[order.library]();
const headers = [];
for (const request of order.requests) headers.push(await sign(request));
const manifest = new URL(`node_modules/${order.library}/package.json`, import.meta.url);
process.stdout.write(JSON.stringify({ version: JSON.parse(readFileSync(manifest, "utf8")).version, headers }));
