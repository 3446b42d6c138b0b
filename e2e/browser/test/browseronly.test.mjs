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
  let actions = 0;
  const act = (does) => {
    actions++;
    return does;
  };
  await page.goto("/");
  await act(page.getByRole("link", { name: "Start runs from a webhook" }).click());
  await act(page.getByRole("combobox", { name: "Who sends?" }).selectOption({ label: "GitHub" }));
  await act(page.getByRole("button", { name: "Create all three" }).click());
  await act(page.getByRole("link", { name: "To the webhook" }).click());
  await act(page.getByRole("link", { name: "Send test event" }).click());
  await act(page.getByRole("button", { name: "Send test event" }).click());
  await page.waitForURL("**/deliveries/*");
  const started = page.locator(".outcomes li", { hasText: "Started" });
  await started.locator(".badge", { hasText: "Succeeded" }).waitFor(); // by itself
  assert.match(await started.getByRole("link", { name: "Open run" }).getAttribute("href"), /^\/runs\/./);
  assert.ok(actions <= 6, `${actions} actions`);
  assert.deepEqual(complaints, []);
  await context.close();
});
