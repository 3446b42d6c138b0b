// I-2 from a server that nobody has used to a run that a webhook started, with nothing but a browser.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 with the browser alone, six actions lead from an empty server to a run that a webhook started", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/");
  // The six; whatever needs a seventh fails below.
  await page.getByRole("link", { name: "Start runs from a webhook" }).click();
  await page.getByRole("combobox", { name: "Sender" }).selectOption({ label: "GitHub" });
  await page.getByRole("button", { name: "Create all three" }).click();
  await page.getByRole("link", { name: "Open webhook" }).click();
  await page.getByRole("link", { name: "Send test event" }).click();
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.waitForURL("**/deliveries/*");
  const started = page.locator(".outcomes li", { hasText: "Started" });
  await started.locator(".badge", { hasText: "Succeeded" }).waitFor(); // by itself
  assert.match(await started.getByRole("link", { name: "Open run" }).getAttribute("href"), /^\/runs\/./);
  assert.deepEqual(complaints, []);
  await context.close();
});
