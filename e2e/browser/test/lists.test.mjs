// I-2 lists: names stay whole, rows stay one line high, and wide screens are used.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { launch, looks, member } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
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
    return (await page.locator("table.list tbody tr").first().boundingBox()).height;
  };
  const [runs, factories] = [await height("/runs"), await height("/factories")];
  await page.getByRole("button", { name: "Compact" }).click();
  await page.locator("html[data-density=compact]").waitFor();
  assert.equal(new URL(page.url()).pathname, "/factories");
  assert.ok((await height("/runs")) < runs - 5 && (await height("/factories")) < factories - 5, "rows are as high as before");
  await page.getByRole("button", { name: "Comfortable" }).click();
  await page.locator("html:not([data-density])").waitFor();
  assert.equal(await height("/factories"), factories);
  assert.deepEqual(complaints, []);
  await context.close();
});
