// W-18 the log of deliveries: how many came, as a chart that leads to them, and one delivery at any width.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, looks, member, sound, typeset } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser, hook;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  const factory = await server.api("/factory", { body: { name: "Handbook" } });
  await server.api("/factory", { body: { name: "Another" } });
  const made = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "builds" } });
  hook = { ...made, page: `/factories/${factory.uid}/webhooks/${made.uid}`, factory: factory.uid };
  for (const [token, id] of [[made.secret, "first"], [made.secret, "first"], [made.secret, "a-very-long-identity-of-a-delivery-that-does-not-fit"], ["wrong", "no"]])
    await send(token, id);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function send(token, id) {
  const headers = { authorization: `Bearer ${token}`, "x-lineshaft-delivery-id": id };
  const response = await fetch(hook.ingress_url, { method: "POST", headers, body: "{}" });
  await response.text();
}

/** The bars that have something, with how much each says. */
const bars = (page) =>
  page.$$eval(".volume .hits a", (links) =>
    links.map((link) => ({ href: link.getAttribute("href"), count: Number(/: (\d+) deliver/.exec(link.textContent)[1]) })).filter((bar) => bar.count > 0),
  );

test("W-18 each bar of the volume of deliveries leads to those in it", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  for (const address of ["/deliveries", `/deliveries?factory=${hook.factory}`, hook.page]) {
    let seen = 0;
    await page.goto(address);
    await page.getByRole("heading", { name: "Deliveries over time" }).waitFor();
    for (const bar of await bars(page)) {
      await page.goto(address);
      await page.locator(`.volume .hits a[href="${bar.href}"]`).click(); // its hour is the same, even if the last bar is another by now
      await page.waitForURL((url) => url.searchParams.has("since"));
      await page.getByRole("link", { name: "Any time" }).waitFor();
      assert.equal(await page.locator(".delivery-item").count(), bar.count, address);
      seen += bar.count;
    }
    assert.equal(seen, 4, address);
    await page.getByRole("link", { name: "Any time" }).click();
    await page.waitForURL((url) => !url.searchParams.has("since"));
    assert.equal(await page.locator(".delivery-item").count(), 4);
  }
  await page.getByRole("link", { name: "1 hour" }).click();
  await page.waitForURL((url) => url.searchParams.get("range") === "1h");
  await page.locator("#volume-more").click();
  assert.equal(await page.locator("#volume-table tbody tr").count(), 12);
  await page.locator(".legend").getByRole("link", { name: "Rejected" }).click();
  await page.waitForURL((url) => url.searchParams.get("only") === "refused");
  assert.equal(await page.locator(".delivery-item").count(), 1);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-18 j and k go through the deliveries, and Enter opens one", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/deliveries");
  const item = (n) => page.locator(".delivery").nth(n);
  await item(0).waitFor();
  for (const key of ["j", "j", "k", "j"]) await page.keyboard.press(key);
  await item(1).locator("summary:focus").waitFor();
  await page.keyboard.press("Enter");
  await item(1).getByRole("heading", { name: "Result" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-18 a delivery that is unfolded before the script of its page has come is read all the same", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  let come;
  const late = new Promise((resolve) => (come = resolve));
  await page.route("**/static/lineshaft.js*", (route) => late.then(() => route.continue()));
  await page.goto("/deliveries", { waitUntil: "commit" });
  const first = page.locator(".delivery").first();
  await first.locator("summary").click();
  await first.getByRole("link", { name: "Open delivery" }).waitFor();
  assert.equal(await first.getByRole("heading", { name: "Result" }).count(), 0);
  come();
  await first.getByRole("heading", { name: "Result" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-18 a delivery shows what came, with credentials masked, and what we answered in which time", async () => {
  const { deliveries } = await server.api(`/factory/${hook.factory}/webhooks/${hook.uid}/deliveries`);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`${hook.page}/deliveries/${deliveries.at(-1).delivery_id}`);
  const headers = await page.getByLabel("Request headers").textContent();
  assert.match(headers, /x-lineshaft-delivery-id: first/i);
  assert.ok(!headers.includes(hook.secret), "the token is in the page");
  const facts = await page.locator(".facts").textContent();
  assert.match(facts, /Our answer\s*202/);
  assert.match(facts, /Answered in\s*(< 1 ms|[\d.]+ m?s)/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-15 deliveries that matched nothing are redelivered together once they match", async () => {
  const { uid } = await server.api("/factory", { body: { name: "Redelivers" } });
  const made = await server.api(`/factory/${uid}/webhooks`, { body: { name: "late", auth_mode: "url_token" } });
  const triggers = (...state) => [{ provider: "webhook", event: "received", filter: { webhook_ids: [made.uid], payload: { state } } }];
  const automation = await server.api(`/factory/${uid}/automations`, {
    body: { name: "picky", prompt: "Look.", config: { worker_host: "never-connected" }, triggers: triggers("other") },
  });
  for (const state of ["one", "two"]) assert.equal((await fetch(made.ingress_url, { method: "POST", body: JSON.stringify({ state }) })).status, 202);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${uid}/webhooks/${made.uid}?only=unmatched`);
  await page.getByRole("link", { name: "Redeliver all that match…" }).click();
  await page.waitForURL("**/deliveries/redeliver?*");
  const foreseen = page.locator(".again .then");
  assert.deepEqual(await foreseen.allTextContents(), ["would start nothing", "would start nothing"]);
  await server.api(`/factory/${uid}/automations/${automation.uid}`, { method: "PATCH", body: { triggers: triggers("one", "two") } });
  await page.reload();
  assert.deepEqual(await foreseen.allTextContents(), ["would start 1 run", "would start 1 run"]);
  await page.getByRole("button", { name: "Redeliver selected" }).click();
  await page.getByText("Redelivered 2 deliveries, which started 2 runs.").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

/** What is wider than the box that it stands in, or than the window. */
const overflowing = (page) =>
  page.evaluate(() => {
    const wrong = [];
    for (const box of document.querySelectorAll("main .card, main dd")) {
      const inner = box.getBoundingClientRect();
      for (const one of box.querySelectorAll("time, code, a, bdi, span, button")) {
        const place = one.getBoundingClientRect();
        const scrolled = one.closest("pre, .numbers-table, .sr, svg");
        if (!scrolled && place.width > 0 && place.right > inner.right + 1) wrong.push(`${one.tagName} ${one.textContent.trim().slice(0, 40)}`);
      }
    }
    if (document.documentElement.scrollWidth > document.documentElement.clientWidth) wrong.push("the page");
    return wrong;
  });

looks("I-2 nothing of a delivery, of the log and of the overview is wider than its box, at 1120, 1280 and 360", async () => {
  const { deliveries } = await server.api(`/factory/${hook.factory}/webhooks/${hook.uid}/deliveries`);
  await server.ended(await server.startRun({ title: "A run", prompt: "Please run this:\n```sh\necho hello\n```" }));
  const places = ["/", `/?factory=${hook.factory}`, "/deliveries", hook.page, ...deliveries.map((d) => `${hook.page}/deliveries/${d.delivery_id}`)];
  const { page, context, complaints } = await member(browser, server.url);
  for (const width of [1120, 1280, 360]) {
    await page.setViewportSize({ width, height: 900 });
    for (const address of places) {
      await page.goto(address);
      await page.locator("main h1").waitFor();
      await typeset(page);
      assert.deepEqual(await overflowing(page), [], `${address} at ${width}`);
      if (process.env.LINESHAFT_E2E_PICTURES)
        await page.screenshot({ path: `${process.env.LINESHAFT_E2E_PICTURES}/${places.indexOf(address)}-${width}.png`, fullPage: true });
    }
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the log with its chart breaks no rule of accessibility", () => sound(browser, server.url, { deliveries: "/deliveries", "log of a webhook": hook.page }));
