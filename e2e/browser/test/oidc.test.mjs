// S-3, S-4 signing in at an identity provider: a real one, through its own pages.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { broken, launch, looks, visitor } from "./browser.mjs";
import { Provider, clientSecret, signInAt } from "./provider.mjs";
import { Server, adminKey } from "./server.mjs";

let server, browser, provider;
before(async () => {
  process.env.LINESHAFT_OIDC_CLIENT_SECRET = clientSecret;
  [provider, browser] = await Promise.all([Provider.start(), launch()]);
  server = await Server.start({
    flags: ["--oidc-issuer", provider.url, "--oidc-client-id", "lineshaft", "--oidc-name", "Example ID", "--oidc-roles", "ops=admin,staff=viewer", "--oidc-allow-private"],
  });
  provider.register(server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await provider?.stop();
});

/** Fonts of the provider's own pages come from elsewhere: they are answered here. */
async function guest(options) {
  const someone = await visitor(browser, server.url, options);
  await someone.context.route(/^https:/, (route) => route.fulfill({ contentType: "text/css", body: "" }));
  return someone;
}

const begin = (page) => page.getByRole("link", { name: "Sign in with Example ID" }).click();

test("S-4 signing in elsewhere leads back to where one came from, with the role of one's groups", async () => {
  const runID = await server.parkRun("Came from here");
  const { page, context, complaints } = await guest();
  await page.goto(`/runs/${runID}?tab=x`);
  await begin(page);
  await signInAt(page, "ada");
  await page.waitForURL(`${server.url}/runs/${runID}?tab=x`);
  assert.equal(await page.getByText("Ada Lovelace").count(), 1);
  await page.goto("/settings"); // ops are admins
  assert.match(await page.locator("main").textContent(), /Example ID, for 12 hours; or with a key/);
  await page.goto("/sessions");
  assert.match(await page.getByRole("row", { name: /This browser/ }).textContent(), /Identity provider/);
  const cookies = (await context.cookies(server.url)).filter((cookie) => cookie.name.includes("lineshaft")).map((cookie) => [cookie.name, cookie.httpOnly, cookie.sameSite]);
  // The session, and that this browser signs in elsewhere; nothing else of the sign-in is left.
  assert.deepEqual(cookies.sort(), [["lineshaft_session", true, "Lax"], ["lineshaft_way", true, "Lax"]]);
  assert.deepEqual(complaints, []);
  await server.cancel(runID);
  await context.close();
});

test("S-3 the strongest role of the groups counts, and names are text", async () => {
  const { page, context, complaints } = await guest();
  await page.goto("/login");
  await begin(page);
  await signInAt(page, "vera");
  await page.waitForURL(`${server.url}/`);
  assert.equal(await page.getByText("Vera <b>Viewer</b>").count(), 1);
  assert.equal(await page.getByRole("link", { name: "Settings" }).count(), 0);
  assert.equal((await context.request.get("/settings")).status(), 403);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("S-3 who has no group with a role is told what to do, and can still use a key", async () => {
  const { page, context } = await guest();
  await page.goto("/runs");
  await begin(page);
  await signInAt(page, "nemo");
  await page.waitForURL(/\/login\/oidc\/callback/);
  assert.match(await page.getByRole("alert").textContent(), /none of your groups has a role here; ask an admin/);
  assert.deepEqual(await broken(page), []);
  await page.getByLabel("API key").fill(adminKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL("**/runs");
  await context.close();
});

test("S-4 an answer is good once, and in the browser that asked", async () => {
  const { page, context } = await guest();
  let answer;
  page.on("request", (request) => {
    if (request.url().includes("/login/oidc/callback")) answer = request.url();
  });
  await page.goto("/login");
  await begin(page);
  await signInAt(page, "ada");
  await page.waitForURL(`${server.url}/`);
  assert.ok(answer.includes("code="));
  for (const where of [await guest(), { page, context }]) {
    const response = await where.page.goto(answer);
    assert.equal(response.status(), 401);
    assert.match(await where.page.getByRole("alert").textContent(), /not the one that your browser began/);
    if (where.context !== context) {
      assert.deepEqual(await where.context.cookies(server.url), []);
      await where.context.close();
    }
  }
  await context.close();
});

test("S-4 cancelling there says so here", async () => {
  const { page, context } = await guest();
  await page.goto("/login");
  await begin(page);
  await page.getByRole("link", { name: /Abort|Cancel/ }).click();
  await page.waitForURL(/\/login\/oidc\/callback/);
  assert.match(await page.getByRole("alert").textContent(), /was cancelled at the identity provider/);
  await context.close();
});

test("S-4 signing in elsewhere works with the keyboard alone", async () => {
  const { page, context, complaints } = await guest();
  await page.goto("/login");
  await page.keyboard.press("Tab"); // skip to content
  await page.keyboard.press("Tab");
  assert.match(await page.evaluate(() => document.activeElement.textContent), /Sign in with Example ID/);
  await page.keyboard.press("Enter");
  await page.waitForURL(`${provider.url}/**`);
  await page.locator("input:focus").waitFor(); // by itself, though not always before the page counts as loaded
  await page.keyboard.type("vera");
  await page.keyboard.press("Tab");
  await page.keyboard.type("anything");
  await page.keyboard.press("Enter");
  await page.locator("button:focus", { hasText: "Continue" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${server.url}/`);
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the page to sign in breaks no rule of accessibility, in both themes, wide and on a phone", async () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 360]) {
      const { page, context } = await guest({ colorScheme, viewport: { width, height: 740 } });
      await page.goto("/login");
      assert.deepEqual(await broken(page), [], `${colorScheme}, ${width}`);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
      await context.close();
    }
  }
});
