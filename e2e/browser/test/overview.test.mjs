// I-2 the overview: first steps on a new server, what needs attention, what happened,
// by itself and with the keyboard.
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

const attention = (page) => page.locator(".attention li");
/** The table beside a chart: what it says about all slots together. */
const sums = (page, chart) =>
  page.$$eval(`#${chart}-table tbody tr`, (rows) =>
    rows.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.textContent))).reduce((all, row) => all.map((n, i) => n + row[i])),
  );

test("I-2 a new server shows the first steps, and its first run takes their place by itself", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.clock.install();
  await page.goto("/");
  await page.getByRole("heading", { name: "Three steps to a first run" }).waitFor();
  const command = page.locator(".copy pre").nth(2);
  assert.match(await command.textContent(), /^lineshaft run --follow/);
  await sound(browser, server.url, { "new server": "/" });
  await server.ended(await server.startRun({ title: "The first", prompt: shell("echo hello") }));
  await page.evaluate(() => (window.sameDocument = true));
  await page.clock.runFor(11_000);
  await page.getByRole("heading", { name: "Ended runs" }).waitFor();
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.deepEqual(await sums(page, "throughput"), [1, 0, 0, 0]);
  assert.equal(await page.getByText("Nothing needs attention.").count(), 1);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 what needs attention comes up by itself, and goes", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.clock.install();
  await page.goto("/?range=1h");
  assert.equal(await attention(page).count(), 0);
  const failed = await server.startRun({ title: "<b>Bold</b> and broken", prompt: shell("exit 3") });
  await server.ended(failed);
  await page.locator("#throughput-more").click();
  await page.clock.runFor(11_000);
  const first = attention(page).first();
  await first.getByRole("link", { name: "<b>Bold</b> and broken" }).waitFor();
  assert.match(await first.textContent(), /Failed/);
  await first.getByRole("link", { name: "<b>Bold</b> and broken" }).focus();
  await page.evaluate(() => { document.querySelector("#overview .numbers").id = "old"; });
  await page.clock.runFor(11_000);
  await page.locator("#old").waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "<b>Bold</b> and broken", "what has the focus keeps it");
  assert.deepEqual(await sums(page, "throughput"), [1, 1, 0, 0]);
  assert.equal(await page.locator("#throughput-table[open]").count(), 1, "a table that was opened stays open");
  assert.equal(await page.locator("#throughput-title").locator("xpath=ancestor::section").locator(".plot rect.failed").count(), 1);
  assert.match(await page.locator("#throughput-desc").textContent(), /2 runs ended: 1 succeeded, 1 failed/);
  assert.ok((await page.locator("rect.hit title").allTextContents()).some((text) => /, 1 failed, 0 ended in an error/.test(text)));
  assert.match(await page.locator(".numbers").textContent(), /50%.*p95/s);
  assert.equal(await page.locator("#work-title").textContent(), "Duration");
  const why = page.getByRole("row", { name: /The agent's program failed 1/ }).getByRole("link");
  assert.match(await why.getAttribute("href"), /^\/runs\?.*state=FAILED.*&error=agent_process_failed$/);
  await page.locator(".chart", { has: page.locator("#throughput-desc") }).locator("rect.hit").last().hover();
  await page.locator(".tip", { hasText: "failed" }).waitFor();
  await page.getByRole("heading", { level: 1 }).hover();
  await page.locator(".tip").waitFor({ state: "hidden" });
  await server.api(`/agent/runs/${failed}`, { method: "DELETE" });
  await page.clock.runFor(11_000);
  await page.getByText("Nothing needs attention.").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the choice of a factory is left alone while the page asks for news", async () => {
  const { uid } = await server.api("/factory", { body: { name: "Bakery" } });
  await server.api("/factory", { body: { name: "Brewery" } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.clock.install();
  await page.goto("/?range=1h");
  await page.locator("#factory").focus();
  await page.evaluate(() => {
    window.chosen = document.activeElement;
    document.querySelector("#overview .numbers").id = "old";
  });
  await page.clock.runFor(11_000);
  await page.locator("#old").waitFor({ state: "detached" });
  await page.locator("#overview .numbers").waitFor();
  assert.ok(await page.evaluate(() => document.activeElement === window.chosen && window.chosen.isConnected), "the list of factories is the one that the reader had open");
  const link = page.locator("#overview a[href]:visible").first(), address = await link.getAttribute("href");
  await link.hover();
  await page.mouse.down();
  const news = page.waitForResponse((answer) => answer.request().headers()["hx-request"] === "true");
  await page.clock.runFor(11_000);
  await (await news).finished();
  await page.mouse.up(); // on the link that was pressed, not on the one that came meanwhile
  await page.waitForURL((url) => url.pathname + url.search === address);
  await page.goto("/?range=1h");
  await page.locator("#factory").dispatchEvent("pointerdown");
  await page.locator("#factory").selectOption({ label: "Bakery" });
  await page.waitForURL(`**/?range=1h&factory=${uid}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a page that nobody sees asks nothing, and one whose server is away says so", async () => {
  const { page, context } = await member(browser, server.url);
  await page.clock.install();
  await page.goto("/");
  let asked = 0;
  page.on("request", (request) => (asked += request.headers()["hx-request"] ? 1 : 0));
  const hide = (hidden) => page.evaluate((value) => Object.defineProperty(document, "hidden", { value, configurable: true }), hidden);
  await hide(true);
  await page.clock.runFor(60_000);
  assert.equal(asked, 0);
  await context.setOffline(true);
  const trouble = page.getByText("The server does not answer.");
  assert.equal(await trouble.isVisible(), false); // from the next line on it may come at any time: the clock of the page also goes by itself
  await hide(false);
  await page.clock.runFor(1_000);
  await trouble.waitFor();
  await context.setOffline(false);
  await page.clock.runFor(11_000);
  await trouble.waitFor({ state: "hidden" });
  await context.close();
});

test("I-2 with the keyboard alone: another range, a table, the run that waits", async () => {
  const parked = await server.parkRun("Waits for a worker that never comes");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/");
  const tabTo = async (selector) => {
    for (let stops = 0; stops < 60; stops++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    }
    assert.fail(`no Tab leads to ${selector}`);
  };
  await tabTo('a[href="/?range=7d"]');
  await page.keyboard.press("Enter");
  await page.waitForURL("**/?range=7d");
  assert.equal(await page.locator(".ranges [aria-current]").textContent(), "7 days");
  await tabTo("#start-more");
  await page.keyboard.press("Enter");
  await page.locator("#start-table table").waitFor();
  assert.equal(await page.locator("#start-table tbody tr").count(), 28);
  const days = await page.locator("section", { has: page.locator("#start-title") }).locator(".ticks span").allTextContents();
  assert.equal(new Set(days).size, 7, `a week has a tick for each day: ${days}`);
  const wide = page.viewportSize();
  await page.setViewportSize({ width: 360, height: 740 });
  const gaps = await page.$$eval(".ticks", (all) => all.flatMap((ticks) => {
    const seen = [...ticks.children].filter((one) => getComputedStyle(one).visibility === "visible").map((one) => {
      const words = document.createRange();
      words.selectNodeContents(one);
      return words.getBoundingClientRect();
    });
    return seen.slice(1).map((box, i) => box.left - seen[i].right);
  }));
  assert.ok(gaps.length > 3 && gaps.every((gap) => gap > 2), `days lie on each other on a phone: ${gaps}`);
  await page.setViewportSize(wide);
  await page.keyboard.press("g");
  await page.keyboard.press("o");
  await page.waitForURL((url) => url.pathname === "/" && url.search === "");
  await tabTo("#tile-Queued");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/runs?state=QUEUED");
  await page.getByRole("link", { name: "Waits for a worker that never comes" }).waitFor();
  await server.cancel(parked);
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the overview is for everybody's eyes", async () => {
  const parked = await server.parkRun(`A title without a place to break it: ${"long".repeat(40)}`);
  await server.ended(await server.startRun({ title: "One more", prompt: shell("exit 1") }));
  await sound(browser, server.url, { "overview, week": "/?range=7d" }, {
    settled: async (page) => {
      for (const more of await page.locator("summary").all()) await more.click();
    },
  });
  await server.cancel(parked);
});

test("S-3 a viewer sees the numbers and no button", async () => {
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await page.goto("/");
  await page.getByRole("heading", { name: "Ended runs" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "New run" }).count(), 0);
  await context.close();
});

looks("I-2 the rows of the overview's numbers are full, however wide the screen", async () => {
  await server.api("/factory", { body: { name: "Works" } }); // for what was spent
  const { page, context } = await member(browser, server.url);
  for (const width of [360, 1280, 1600]) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto("/");
    await page.locator(".numbers .card").first().waitFor();
    const ends = await page.$$eval(".numbers .card", (cards) => {
      const rows = new Map();
      for (const { top, right } of cards.map((one) => one.getBoundingClientRect())) rows.set(Math.round(top), Math.round(right));
      return [...rows.values()];
    });
    assert.equal(new Set(ends).size, 1, `at ${width} the rows end at ${ends}`);
  }
  await context.close();
});
