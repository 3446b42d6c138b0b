// I-1 lineshaft demo: a server full of made-up data in seconds, and nothing left of it afterwards.
import assert from "node:assert/strict";
import { mkdtemp, readdir, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startDemo, stopDemo } from "./demo.mjs";
import { onceOn, launch, member, typeset } from "./browser.mjs";
import { patience } from "./server.mjs";
import { pageRoutes, routeOf } from "./world.mjs";

/**
 * Follows links until every route was seen that is wanted: first those to other routes, then those to the
 * routes that were seen least, which may lead on. It gives back the routes that no link led to.
 */
async function walk(page, url, first, wanted, look) {
  const todo = [], left = new Set(wanted), known = new Set(), times = new Map();
  const add = (address) => {
    const { pathname } = new URL(address, url), route = routeOf(pathname);
    if (route && !known.has(pathname)) todo.push({ address, route });
    known.add(pathname);
  };
  const rank = ({ route }) => (left.has(route) ? -1 : (times.get(route) ?? 0));
  first.forEach(add);
  for (let visits = 0; todo.length > 0 && left.size > 0 && visits < 3 * wanted.length; visits++) {
    const { address, route } = todo.sort((a, b) => rank(a) - rank(b)).shift();
    times.set(route, (times.get(route) ?? 0) + 1);
    const answer = await page.goto(address);
    assert.equal(answer.status(), 200, address);
    if (left.delete(route)) await look(address);
    (await page.$$eval("a[href]:not([download])", (links) => links.filter((one) => one.origin === location.origin).map((one) => one.pathname + one.search))).forEach(add);
  }
  return [...left];
}

// What a demo has no page for: nobody else is signed in, and no factory of it follows a repository.
const without = ["/login", "/sessions/others", "/sessions/{id}/end", "/factories/{factory}/repository/unlink"];

onceOn("sqlite", "I-1 every page of the demo says what it is, and has something to show", async () => {
  const demo = await startDemo(undefined), browser = await launch();
  try {
    const { page, complaints } = await member(browser, demo.url, { key: demo.key });
    await page.goto("/runs?state=INPROGRESS");
    const live = await page.locator("#list input[name=id]").first().getAttribute("value");
    const wanted = pageRoutes.map((route) => route.slice("GET ".length)).filter((route) => !without.includes(route));
    // A form leads to these, or the palette; and those that were refused have less to do.
    const hidden = ["/search?q=cart", `/runs/cancel?id=${live}`, "/start", "/deliveries?only=started"];
    const missed = await walk(page, demo.url, ["/", ...hidden], wanted, async (address) => {
      const alerts = await page.locator("[role=alert]:visible").allTextContents();
      assert.equal(alerts.length, 1, `${address}: ${alerts}`);
      assert.match(alerts[0], /This is a demo/, address);
      assert.ok((await page.locator("main h1").textContent()).trim(), `${address} has no title`);
      const text = await page.locator("main").innerText();
      assert.ok(text.length > alerts[0].length + 60, `${address} says no more than ${JSON.stringify(text)}`);
      await typeset(page);
      const cut = await page.$$eval("main .card.flush", (cards) => cards.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.innerText.slice(0, 60)));
      const over = await page.$$eval(".delivery > summary .tag", (tags) => tags.filter((one) => one.getBoundingClientRect().right > one.nextElementSibling.getBoundingClientRect().left).map((one) => one.innerText));
      assert.deepEqual([cut, over], [[], []], `${address}: tables are cut, or results cover the time`);
      assert.deepEqual(complaints, [], address);
    });
    assert.deepEqual(missed, [], "no link of the demo leads there");
  } finally {
    await browser.close();
    await stopDemo(demo);
  }
});

onceOn("sqlite", "I-1 the demo fills every list, goes on by itself, says what it is, and leaves nothing behind", async (t) => {
  const temporary = await mkdtemp(path.join(tmpdir(), "lineshaft-page-")); // another demo of this machine is not looked at
  const before = await startDemo(temporary);
  await stopDemo(before);
  const demo = await startDemo(temporary), { child, url, key } = demo;
  const browser = await launch();
  try {
    t.diagnostic(`ready after ${before.took} and ${demo.took} ms`);
    assert.ok(Math.min(before.took, demo.took) < patience, "nobody waits that long"); // seconds where nothing else runs
    assert.match(url, /^http:\/\/127\.0\.0\.1:/);
    const { page, complaints } = await member(browser, url, { key });
    for (const address of ["/", "/runs", "/factories", "/automations", "/agents", "/webhooks", "/notifications", "/schedules", "/environments", "/secrets", "/workers", "/keys", "/audit"]) {
      await page.goto(address);
      await page.getByText("This is a demo").waitFor();
      assert.ok((await page.locator("main table tbody tr").count()) > 0, `${address} is empty`);
    }
    await page.goto("/runs");
    const states = await page.locator("#list td.state").allTextContents();
    for (const [state, least] of Object.entries({ "In progress": 3, Blocked: 1, Failed: 2, Succeeded: 3, Queued: 1 })) {
      assert.ok(states.filter((one) => one === state).length >= least, `${state}: ${states}`);
    }
    assert.match(await page.locator("#list").textContent(), /[56] days ago/); // there is a week to look back at
    await page.goto("/");
    assert.match(await page.locator(".numbers .card", { hasText: "Spent today" }).textContent(), /\$[0-9.]*[1-9]/);
    assert.ok((await page.locator(".attention li").count()) >= 4);
    await page.locator(".numbers .before", { hasText: /^before: \d/ }).first().click();
    await page.waitForURL(/\/runs\?since=.*&until=/);
    await page.locator("#list tbody tr").first().waitFor();
    await page.goto("/webhooks");
    await page.getByRole("link", { name: "github", exact: true }).first().click();
    await page.waitForURL(/\/webhooks\/[^/]+/);
    const results = await page.locator(".deliveries summary .tag").allTextContents();
    for (const wanted of ["Started", "Not matched", "Duplicate", "Rejected (auth)", "Rejected (invalid JSON)"]) assert.ok(results.includes(wanted), `${wanted}: ${results}`);
    // A run that is live says more, and one that asks takes the answer.
    await page.goto("/runs");
    await page.getByRole("link", { name: "Clean up feature flags" }).click();
    const last = await page.locator("#log").evaluate((log) => Number(log.dataset.after));
    await page.waitForFunction((seen) => Number(document.getElementById("log").dataset.shown ?? 0) > seen, last);
    await page.goto("/runs?state=BLOCKED");
    await page.getByRole("link", { name: "Release 4.12.1" }).click();
    await page.getByRole("button", { name: "Allow once", exact: true }).click();
    await page.locator("#state").getByText("Succeeded").waitFor();
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
    await stopDemo(demo);
  }
  assert.equal(child.exitCode, 0);
  assert.deepEqual(await readdir(temporary), []);
  await rmdir(temporary);
});
