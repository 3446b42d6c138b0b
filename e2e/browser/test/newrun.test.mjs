// R-2, I-2 a run is started from the page.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, looks, member, sound } from "./browser.mjs";
import { Server, shell } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

const runID = (page) => new URL(page.url()).pathname.slice("/runs/".length);
const started = (page) => page.waitForURL(/\/runs\/[0-9a-f-]{36}$/);

test("R-2 on a fresh server: from the empty list to a run that ends well", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.getByRole("link", { name: "Start a run" }).click();
  await page.getByLabel("Prompt").fill(shell("echo from the page"));
  await page.getByRole("button", { name: "Start run" }).click();
  await started(page);
  assert.equal(await page.locator(".callout.good").count(), 0, "what has only begun is not reported as a success");
  const run = await server.ended(runID(page));
  assert.equal(run.state, "SUCCEEDED");
  assert.equal(run.source, "WEB_APP");
  assert.equal(run.title, "Please run this:");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-2 with the keyboard alone: n, prompt, title, worker, start; then the same again", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.keyboard.press("n");
  await page.locator("#prompt:focus").waitFor();
  await page.keyboard.insertText("Wait for somebody");
  const tabTo = async (selector) => {
    for (let stops = 0; stops < 30; stops++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    }
    assert.fail(`no Tab leads to ${selector}`);
  };
  await tabTo("summary");
  await page.keyboard.press("Enter");
  await tabTo("#title");
  await page.keyboard.insertText("By hand");
  await tabTo("#host");
  await page.keyboard.insertText("never-connected");
  await tabTo("button.primary");
  await page.keyboard.press("Enter");
  await started(page);
  const first = await server.run(runID(page));
  assert.equal(first.title, "By hand");
  assert.equal(first.state, "QUEUED");

  await page.goto(`/runs/new?from=${first.run_id}`);
  assert.equal(await page.getByLabel("Prompt").inputValue(), "Wait for somebody");
  assert.equal(await page.getByLabel("Title").inputValue(), "By hand");
  assert.equal(await page.getByLabel("Worker").inputValue(), "never-connected");
  await page.getByRole("button", { name: "Start run" }).click();
  await started(page);
  assert.notEqual(runID(page), first.run_id);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-2 the form says what runs a prompt when nothing is chosen", async () => {
  const { page, context } = await member(browser, server.url);
  await page.goto("/runs/new");
  assert.match(await page.locator("#standard").innerText(), /If you choose nothing else, shell runs it\./);
  assert.equal(await page.locator("#harness option").first().textContent(), "Default: shell");
  assert.equal(await page.locator("#model").getAttribute("list"), await page.locator("datalist#models").getAttribute("id"));
  await page.goto("/runs/new?agent=01980f6e-5b70-7d2c-a3f4-1b2c3d4e5f60"); // which decides that itself
  assert.equal(await page.locator("#standard").count(), 0);
  await context.close();
});

test("R-2 a form that is wrong comes back with what was written", async () => {
  const { page, context } = await member(browser, server.url);
  await page.goto("/runs/new");
  await page.getByText("Options", { exact: true }).click();
  await page.getByLabel("Title").fill("Kept");
  await page.getByRole("button", { name: "Start run" }).click();
  await page.getByRole("alert").getByText("a run needs a prompt").waitFor();
  assert.equal(await page.getByLabel("Title").inputValue(), "Kept");
  await page.getByLabel("Prompt").fill(shell("true"));
  await page.getByRole("button", { name: "Start run" }).click();
  await started(page);
  assert.equal((await server.ended(runID(page))).title, "Kept");
  await context.close();
});

looks("I-2 the form is sound", async () => {
  const run = await server.startRun({ title: `Long ${"title".repeat(30)}`, prompt: shell("true"), config: { harness: { type: "shell" } } });
  await server.ended(run);
  await sound(browser, server.url, { "new run from another": `/runs/new?from=${run}` });
});
