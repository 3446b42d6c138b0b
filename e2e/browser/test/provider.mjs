// An identity provider of one's own: the published package oidc-provider on loopback,
// with its sign-in page, and people who have groups.
import { once } from "node:events";
import { createServer } from "node:http";
import OIDC from "oidc-provider";

export const clientSecret = "a-client-secret-of-this-test";

/** The people of the provider, with the groups that roles are mapped from. */
const people = {
  ada: { name: "Ada Lovelace", email: "ada@example.com", groups: ["staff", "ops"] },
  vera: { name: "Vera <b>Viewer</b>", email: "vera@example.com", groups: ["staff"] },
  nemo: { name: "Nemo", email: "nemo@example.com", groups: ["guests"] },
};

export class Provider {
  /** Starts a provider that knows one client, whose server is named later. */
  static async start() {
    const provider = new Provider();
    provider.server = createServer((request, response) => provider.answer(request, response));
    provider.server.listen(0, "127.0.0.1");
    await once(provider.server, "listening");
    provider.url = `http://127.0.0.1:${provider.server.address().port}`;
    return provider;
  }

  /** Lets a Lineshaft server send people here. */
  register(lineshaft) {
    const oidc = new OIDC(this.url, {
      clients: [{ client_id: "lineshaft", client_secret: clientSecret, redirect_uris: [`${lineshaft}/login/oidc/callback`], grant_types: ["authorization_code"], response_types: ["code"] }],
      cookies: { keys: ["a key of this test"] },
      claims: { openid: ["sub"], profile: ["name", "groups"], email: ["email"] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: true } },
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...people[id] }) }),
    });
    this.answer = oidc.callback();
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, "close");
  }
}

/** Goes through the provider's own pages as somebody. */
export async function signInAt(page, who) {
  await page.getByPlaceholder("Enter any login").fill(who);
  await page.getByPlaceholder("and password").fill("anything");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}
