// S-4 the browsers that are signed in are listed and can be signed out.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, looks, member, sound } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

const phoneAgent = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1";

test("S-4 somebody signs out a phone that is not at hand, with the keyboard alone", async () => {
  const key = await server.keyFor("viewer");
  const phone = await member(browser, server.url, { key, userAgent: phoneAgent });
  const { page, context, complaints } = await member(browser, server.url, { key });
  await page.goto("/sessions");
  assert.match(await page.getByRole("row", { name: /This browser/ }).textContent(), /Chrome on Linux/);
  const row = page.getByRole("row", { name: /Safari on iPhone/ });
  assert.match(await row.textContent(), /127\.0\.0\.1/);
  await row.getByRole("link", { name: "Sign out Safari on iPhone" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Sign out Safari on iPhone?" }).waitFor();
  await page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByText("Safari on iPhone is signed out.").waitFor();
  assert.equal(await page.getByRole("row", { name: /iPhone/ }).count(), 0);
  await phone.page.goto("/runs");
  assert.equal(new URL(phone.page.url()).pathname, "/login");
  assert.deepEqual(complaints, []);
  await phone.context.close();
  await context.close();
});

test("S-4 a live page stops when its session is ended elsewhere", async () => {
  const key = await server.keyFor("member");
  const runID = await server.parkRun("Watched");
  const phone = await member(browser, server.url, { key, userAgent: phoneAgent });
  const stream = phone.page.waitForResponse((response) => response.url().includes("/events"));
  await phone.page.goto(`/runs/${runID}`);
  const live = await stream;
  const { page, context } = await member(browser, server.url, { key });
  await page.goto("/sessions");
  await page.getByRole("link", { name: "Sign out all others" }).click();
  await page.getByRole("button", { name: "Sign out all others" }).click();
  await page.getByText("One other browser is signed out.").waitFor();
  await live.finished(); // nothing happens in that run: the stream ends for the session alone
  await phone.page.locator("#live").getByText("You have been signed out.").waitFor();
  await phone.page.locator("#live").getByRole("link", { name: "Sign in" }).evaluate((link) => { link.id = "first"; });
  for (let again = 0; again < 2; again++) await phone.page.waitForResponse((response) => response.url().includes("/events"));
  await phone.page.locator("#first").click(); // it is the same, however often the page tries again
  await phone.page.waitForURL(`${server.url}/login?next=${encodeURIComponent(`/runs/${runID}`)}`);
  await phone.context.close();
  await context.close();
  await server.cancel(runID);
});

test("S-3 an admin sees and ends everybody's, others do not", async () => {
  const key = await server.keyFor("manager");
  const other = await member(browser, server.url, { key, userAgent: phoneAgent });
  await other.page.goto("/sessions");
  assert.equal(await other.page.getByRole("link", { name: "Everyone's" }).count(), 0);
  assert.equal((await other.context.request.get("/sessions?of=everybody")).status(), 403);
  const { page, context } = await member(browser, server.url);
  await page.goto("/sessions");
  await page.getByRole("link", { name: "Everyone's" }).click();
  await page.getByRole("row", { name: /page manager/ }).getByRole("link", { name: /Sign out/ }).click();
  await page.getByRole("main").getByRole("button", { name: "Sign out" }).click();
  await page.getByText(/Safari on iPhone of page manager is signed out\./).waitFor();
  assert.equal((await other.context.request.get("/runs", { maxRedirects: 0 })).status(), 303);
  await other.context.close();
  await context.close();
});

looks("I-2 the pages of sessions are sound", async () => {
  await sound(browser, server.url, { "sessions of everybody": "/sessions?of=everybody" });
});
