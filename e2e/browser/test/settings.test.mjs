// I-2 what the server runs with, and its doctor.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member } from "./browser.mjs";
import { Server, adminKey } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 settings tell values and origins, and no secret", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/settings");
  const main = page.getByRole("main");
  assert.match(await main.textContent(), process.env.LINESHAFT_E2E_DATABASE ? /PostgreSQL, schema version \d+/ : /SQLite, schema version \d+/);
  assert.match(await page.getByRole("row", { name: /^data-dir/ }).textContent(), /lineshaft-page-.*flag/s);
  assert.match(await page.getByRole("row", { name: /LINESHAFT_ADMIN_KEY/ }).textContent(), /set, not shown.*environment/s);
  const source = await page.content();
  for (const secret of [adminKey, process.env.LINESHAFT_MASTER_KEY]) assert.ok(!source.includes(secret));
  const hidden = page.getByRole("row", { name: /^shutdown-grace/ });
  assert.equal(await hidden.isVisible(), false);
  await page.getByText(/unchanged settings?/).click();
  assert.match(await hidden.textContent(), /10s.*default/s);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a setting is found by words of its name and its help, also among the defaults", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/settings");
  const rows = page.locator("table.settings tbody tr").filter({ visible: true });
  await page.getByLabel("Find a setting").fill("shutdown GRACE");
  await page.getByRole("row", { name: /^shutdown-grace/ }).waitFor();
  assert.equal(await rows.count(), 1);
  const told = page.locator("[data-narrow]").getByRole("status");
  assert.match(await told.textContent(), /^1 of \d+$/);
  await page.getByLabel("Find a setting").fill("no setting has these words");
  await told.getByText("Nothing matches", { exact: true }).waitFor();
  assert.equal(await rows.count(), 0);
  await page.getByLabel("Find a setting").fill("");
  await page.getByRole("row", { name: /^data-dir/ }).waitFor();
  assert.ok((await rows.count()) > 50);
  assert.equal(await told.textContent(), "");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the checks run on request, without leaving the page", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/settings");
  await page.getByRole("link", { name: "Run the checks" }).focus();
  await page.keyboard.press("Enter");
  await page.locator("#doctor li", { hasText: "isolation" }).waitFor();
  assert.equal(new URL(page.url()).pathname, "/settings");
  assert.match(await page.locator("#doctor li", { hasText: "database" }).textContent(), /OK.*schema is current/s);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the checks work without JavaScript", async () => {
  const { page, context } = await member(browser, server.url, { javaScriptEnabled: false });
  await page.goto("/settings");
  await page.getByRole("link", { name: "Run the checks" }).click();
  await page.locator("#doctor li", { hasText: "data directory" }).waitFor();
  await context.close();
});

test("S-3 settings are for admins", async () => {
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("manager") });
  await page.goto("/");
  assert.equal(await page.getByRole("link", { name: "Settings" }).count(), 0);
  for (const address of ["/settings", "/settings/doctor"]) assert.equal((await page.goto(address)).status(), 403);
  await context.close();
});
