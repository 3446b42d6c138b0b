// I-2 the pages work with a keyboard, on a phone, in light and in dark, and for
// readers who do not see them.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import path from "node:path";
import test, { after, before } from "node:test";
import { broken, launch, member, over, printed, visitor } from "./browser.mjs";
import { Server, required, shell } from "./server.mjs";

const pictures = required("LINESHAFT_E2E_PICTURES");
let server, browser, runs;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await mkdir(pictures, { recursive: true });
  runs = await examples();
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Runs in several states, with long words in them. */
async function examples() {
  const done = await server.startRun({ title: "Build the release notes", prompt: shell("echo collecting", "echo 'warning: no tag' >&2", `echo ${"unbroken".repeat(40)}`) });
  const bad = await server.startRun({ title: `A title without a place to break it: ${"long".repeat(40)}`, prompt: shell("echo trying", "exit 3") });
  const live = await server.startRun({ title: "Review the open pull requests", prompt: shell("mkfifo gate", "echo reading", "read a <gate") });
  const queued = await server.parkRun("Wait for a worker");
  await Promise.all([server.ended(done), server.ended(bad)]);
  return { done, bad, live, queued };
}

const places = () => ({ signin: "/login", runs: "/", done: `/runs/${runs.done}`, failed: `/runs/${runs.bad}`, live: `/runs/${runs.live}`, missing: "/runs/none" });

for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of [["wide", { width: 1280, height: 800 }], ["phone", { width: 360, height: 740 }]]) {
    test(`I-2 in ${colorScheme}, ${size}: no rule of accessibility is broken, nothing scrolls sideways`, async () => {
      const { page, context } = await member(browser, server.url, { colorScheme, viewport });
      for (const [name, address] of Object.entries(places())) {
        await page.goto(address);
        if (name === "live") await page.getByText("Live.").waitFor();
        assert.deepEqual(await broken(page), [], name);
        const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
        assert.ok(content <= window, `${name} is ${content} px wide in a window of ${window} px`);
        await page.screenshot({ path: path.join(pictures, `${name}-${colorScheme}-${size}.png`), fullPage: true });
      }
      await context.close();
    });
  }
}

/** Presses Tab until the element has the focus, which must be visible at every stop. */
async function tabTo(page, selector) {
  for (let stops = 0; stops < 40; stops++) {
    await page.keyboard.press("Tab");
    const [there, visible] = await page.evaluate((wanted) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return [document.activeElement.matches(wanted), outlineStyle !== "none" && outlineWidth !== "0px"];
    }, selector);
    assert.ok(visible, "the focus is invisible at a stop on the way");
    if (there) return;
  }
  assert.fail(`no Tab leads to ${selector}`);
}

test("I-2 with the keyboard alone: sign in, open a run, send a follow-up", async () => {
  const { page, context, complaints } = await visitor(browser, server.url);
  await page.goto("/");
  await page.locator("input:focus").waitFor(); // by itself, though not always before the page counts as loaded
  await page.keyboard.type(process.env.LINESHAFT_ADMIN_KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await tabTo(page, `a[href="/runs/${runs.done}"]`);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${runs.done}`);
  await over(page);
  await tabTo(page, "#message");
  await page.keyboard.insertText(shell("echo from-the-keyboard"));
  await tabTo(page, "form button");
  await page.keyboard.press("Enter");
  await printed(page, "from-the-keyboard").waitFor();
  await over(page);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the first Tab stop leads past the header", async () => {
  const { page, context } = await member(browser, server.url);
  await page.goto(`/runs/${runs.queued}`);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await page.keyboard.press("Enter");
  assert.equal(new URL(page.url()).hash, "#main");
  await context.close();
});

test("without JavaScript the page shows the log and its forms work", async () => {
  const { page, context } = await member(browser, server.url, { javaScriptEnabled: false });
  await page.goto(`/runs/${runs.live}`);
  await printed(page, "reading").waitFor();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.waitForURL(`**/runs/${runs.live}`);
  assert.equal(await page.locator("#state").textContent(), "CANCELLED");
  await context.close();
});
