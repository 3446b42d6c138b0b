// A sender that signs what it sends, as GitHub does.
import { createHmac, randomUUID } from "node:crypto";
import { patience } from "./server.mjs";

/** How to send to a webhook whose secret is known. */
export const signed = (hook) => async (event, payload) => {
  const body = JSON.stringify(payload);
  const response = await fetch(hook.ingress_url, {
    method: "POST",
    headers: {
      "x-github-event": event,
      "x-github-delivery": randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", hook.secret).update(body).digest("hex")}`,
    },
    body,
    signal: AbortSignal.timeout(patience),
  });
  if (response.status !== 202) throw new Error(`delivery: ${response.status} ${await response.text()}`);
  return (await response.json()).delivery_id;
};

/** Makes a webhook of a factory by the API and gives back how to send to it. */
export async function signedWebhook(server, factory, name) {
  const hook = await server.api(`/factory/${factory}/webhooks`, { body: { name, auth_mode: "signature", signature_scheme: "github" } });
  return { ...hook, send: signed(hook) };
}
