// I-2 lists: names stay whole, rows stay one line high, and wide screens are used.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { here, launch, looks, member, typeset } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser;
before(async () => {
  if (here("sqlite")) [server, browser] = await Promise.all([Server.start(), launch()]); // where nothing is looked at, nothing would end them
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const words = "My very first factory of handbooks and explanations";

/** One of each noun that stands in a column beside the first, with names that do not fit. */
async function furnish() {
  const factory = await server.api("/factory", { body: { name: words } });
  await server.api("/factory", { body: { name: "Another" } });
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "explain-failed-build" } });
  await server.api(`/factory/${factory.uid}/automations`, {
    body: {
      name: "explain-failed-build", prompt: "Explain it.",
      triggers: [
        { provider: "webhook", event: "received", filter: { webhook_ids: [hook.uid], payload: { action: ["completed"] } } },
        { provider: "schedule", event: "cron_fired", schedule: { cron: "@daily" } },
      ],
    },
  });
  await server.api("/agent/identities", { body: { name: "handbook-administrator", factory_uid: factory.uid, prompt: "Write.", description: "Writes what others read." } });
  for (const title of ["Explain the failed build of payments", "Short"]) await server.parkRun(title);
}

/** What stands in more than one line of its cell, is cut without the whole in its title, or begins lower than its row. */
const crooked = (page) =>
  page.$$eval("table.list tbody tr", (rows) => rows.flatMap((row) => {
    const wrong = [];
    const names = [...row.querySelectorAll("td:not(.main) bdi")].filter((one) => one.offsetParent !== null);
    for (const name of names) {
      const box = name.getBoundingClientRect(), line = parseFloat(getComputedStyle(name).lineHeight);
      if (name.getClientRects().length > 1 || box.height > 1.5 * line) wrong.push(`${name.textContent} is ${Math.round(box.height)} px high`);
      if (name.scrollWidth > name.clientWidth + 1 && name.title !== name.textContent) wrong.push(`${name.textContent} is cut, and its title is ${JSON.stringify(name.title)}`);
    }
    const first = row.querySelector("td.main a, td.main b")?.getBoundingClientRect().top;
    for (const name of names) if (Math.abs(name.getBoundingClientRect().top - first) > 8) wrong.push(`${name.textContent} does not stand beside the name of its row`);
    return wrong;
  }));

looks("I-2 names in lists are one line each, beside the name of their row, at 1280 and 1920", async () => {
  await furnish();
  const { page, context, complaints } = await member(browser, server.url);
  for (const width of [1280, 1920]) {
    await page.setViewportSize({ width, height: 900 });
    for (const address of ["/runs", "/automations", "/agents", "/schedules", "/webhooks", "/audit", "/search?q=Explain"]) {
      await page.goto(address);
      await page.locator("main h1").waitFor();
      await typeset(page);
      assert.deepEqual(await crooked(page), [], `${address} at ${width}`);
    }
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 a wide screen shows a wide list", async () => {
  const { page, context } = await member(browser, server.url);
  await page.setViewportSize({ width: 1920, height: 900 });
  await page.goto("/runs");
  const right = await page.locator("main .card.flush").evaluate((one) => one.getBoundingClientRect().right);
  assert.ok(right > 1800, `the list ends at ${right} of 1920 px`);
  const help = await page.locator("[data-help]").evaluate((one) => one.getBoundingClientRect().right);
  assert.ok(Math.abs(help - right) < 20, `the shortcuts end at ${help} px, the list at ${right}`);
  await context.close();
});

looks("I-2 compact lists have lower rows on every page, until they are comfortable again", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const height = async (address) => {
    await page.goto(address);
    await typeset(page);
    return (await page.locator("table.list tbody tr").first().boundingBox()).height;
  };
  const [runs, factories] = [await height("/runs"), await height("/factories")];
  assert.equal(await page.getByRole("button", { name: "Dark" }).isVisible(), false);
  await page.getByText("Display", { exact: true }).click();
  await page.getByRole("button", { name: "Dark" }).waitFor();
  await page.getByRole("button", { name: "Compact" }).click();
  await page.locator("html[data-density=compact]").waitFor();
  assert.equal(new URL(page.url()).pathname, "/factories");
  assert.ok((await height("/runs")) < runs - 5 && (await height("/factories")) < factories - 5, "rows are as high as before");
  await page.getByText("Display", { exact: true }).click();
  await page.getByRole("button", { name: "Comfortable" }).click();
  await page.locator("html:not([data-density])").waitFor();
  assert.equal(await height("/factories"), factories);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** What has the focus, in a word or two. */
const focused = (page) => page.evaluate(() => document.activeElement.textContent.trim().replace(/\s+/g, " "));

looks("I-2 j and k go from row to row of every list, and Enter opens what has a page", async () => {
  for (const name of ["FOR_J", "FOR_K"]) await server.api("/secrets", { body: { name, value: "of the keyboard" } });
  await server.api("/apikeys", { body: { name: "second key", role: "viewer" } });
  for (const title of ["Breaks", "Breaks too"]) await server.ended(await server.startRun({ title, prompt: "nothing to run" }));
  const other = await member(browser, server.url);
  const { page, context, complaints } = await member(browser, server.url);
  const rows = { "/": ".attention li", "/audit": "tbody tr", "/keys": "tbody tr", "/sessions": "tbody tr", "/secrets": "tbody tr", "/runs": "#list tbody tr" };
  for (const [address, selector] of Object.entries(rows)) {
    await page.goto(address);
    const all = page.locator(selector).filter({ visible: true });
    assert.ok((await all.count()) > 1, `${address} has no two rows`);
    const at = () => all.evaluateAll((list) => list.findIndex((row) => row.contains(document.activeElement)));
    const steps = [];
    for (const key of ["j", "j", "k", "k", "j"]) {
      await page.keyboard.press(key);
      steps.push(await at());
    }
    assert.deepEqual(steps, [0, 1, 0, 0, 1], `${address}: ${await focused(page)}`);
    assert.ok(await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle !== "none"), `${address}: nobody sees where the focus is`);
  }
  await page.goto("/audit");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.locator("tbody tr details[open]").first().waitFor();
  await page.keyboard.press("j"); // past the links of what is open
  assert.equal(await page.evaluate(() => document.activeElement.closest("tr").rowIndex), 2);
  await page.goto("/");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.pathname !== "/");
  assert.deepEqual(complaints, []);
  await context.close();
  await other.context.close();
});

looks("I-2 times are UTC for those who choose that, and local again when they choose so", async () => {
  const { page, context, complaints } = await member(browser, server.url, { timezoneId: "Asia/Tokyo" });
  const shown = async () => {
    const first = page.locator("time[data-moment][data-zone]").first(); // as the script of the page has written it
    await first.waitFor({ state: "attached" });
    return first.evaluate((one) => ({ text: one.textContent, title: one.title, utc: new Date(one.dateTime).toISOString().slice(0, 19).replace("T", " ") }));
  };
  await page.goto("/audit");
  const local = await shown();
  assert.notEqual(local.text.slice(0, 19), local.utc);
  assert.equal(local.text.slice(19), " GMT+9", "a time says of which zone it is");
  await page.getByText("Display", { exact: true }).click();
  await page.getByRole("button", { name: "UTC", exact: true }).click();
  await page.locator("html[data-zone=utc]").waitFor();
  assert.equal(new URL(page.url()).pathname, "/audit");
  const utc = await shown();
  assert.equal(utc.text, `${utc.utc} UTC`);
  assert.match(utc.title, /Asia\/Tokyo, .* UTC$/, "the tooltip has both");
  await page.getByText("Display", { exact: true }).click();
  await page.getByRole("button", { name: "Local time" }).click();
  await page.locator("html:not([data-zone])").waitFor();
  assert.equal((await shown()).text, local.text);
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 a filter holds as soon as it is chosen with a pointer, and with the keyboard or without scripts when Show is pressed", async () => {
  const [first, second] = (await server.api("/factory")).factories;
  const { page, context, complaints } = await member(browser, server.url);
  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  const applied = (address, uid) => (url) => url.pathname === address && url.searchParams.get("factory") === uid;
  for (const address of ["/", "/webhooks", "/automations", "/agents", "/deliveries", "/costs"]) {
    await page.goto(address);
    const list = page.locator("main").getByLabel("Factory", { exact: true }), show = page.getByRole("button", { name: "Show", exact: true });
    await list.dispatchEvent("pointerdown");
    await list.selectOption(first.uid);
    await page.waitForURL(applied(address, first.uid));
    await list.dispatchEvent("pointerdown");
    await list.press("Shift"); // from here on it is the keyboard
    await page.evaluate(() => {
      window.sent = 0;
      addEventListener("submit", () => { window.sent++; }, true);
    });
    await list.selectOption(second.uid);
    assert.equal(await page.evaluate(() => window.sent), 0, `${address} applies each arrow`); // it would be sent while the list says that it changed
    await page.goto("/keys");
    await page.goBack();
    await page.waitForURL(applied(address, first.uid));
    await page.waitForFunction((uid) => document.querySelector("form[data-apply] select").value === uid, first.uid);
    await list.press("Tab");
    await list.selectOption(second.uid);
    await show.press("Enter");
    await page.waitForURL(applied(address, second.uid));
    await plain.page.goto(address);
    await plain.page.getByRole("button", { name: "Show", exact: true }).waitFor();
  }
  assert.deepEqual(complaints, []);
  await context.close();
  await plain.context.close();
});

looks("I-2 fields beside each other are equally high, and a long choice ends in dots", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  for (const address of ["/agents/new", "/schedules/new", "/keys/new"]) {
    await page.goto(address);
    const rows = await page.$$eval(".pair", (pairs) => pairs.flatMap((pair) => {
      const fields = [...pair.querySelectorAll(":scope > .field > :is(input, select)")].map((one) => one.getBoundingClientRect());
      return [...new Set(fields.map((one) => Math.round(one.top)))].map((top) => fields.filter((one) => Math.round(one.top) === top).map((one) => Math.round(one.height)));
    }));
    assert.ok(rows.some((row) => row.length > 1), `${address} has no fields beside each other`);
    for (const row of rows) assert.equal(new Set(row).size, 1, `${address}: heights ${row}`);
  }
  assert.equal(await page.locator("#expires").evaluate((one) => getComputedStyle(one).textOverflow), "ellipsis");
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the foot of the menu begins where the menu does", async () => {
  const { page, context } = await member(browser, server.url);
  await page.goto("/");
  const [menu, links] = await page.evaluate(() => {
    const words = (one) => { const range = document.createRange(); range.selectNodeContents(one); return Math.round(range.getBoundingClientRect().left); };
    return [words(document.querySelector(".menu-group h2")), [...document.querySelectorAll(".menu-foot :is(p > *:first-child, form > button:first-of-type)")].map(words)];
  });
  assert.ok(links.length > 4, `${links.length} lines`);
  for (const left of links) assert.ok(Math.abs(left - menu) < 3, `a line of the foot begins at ${left}, the menu at ${menu}`);
  await context.close();
});
