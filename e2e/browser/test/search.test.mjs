// I-2 search from anywhere: ids lead straight there, words to a list.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { indexed, launch, looks, member, sound, soundHere } from "./browser.mjs";
import { Server, shell } from "./server.mjs";

let server, browser, shed;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  shed = await server.parkRun("Paint the shed");
  await server.parkRun("Paint the <b>fence</b>");
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 with the keyboard alone: / takes an id, its beginning, and words", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  for (const word of ["shed", "fence"]) await indexed(page, word, word);
  for (const text of [shed, shed.toUpperCase(), shed.slice(0, 20)]) {
    await page.goto("/runs");
    await page.keyboard.press("/");
    await page.keyboard.insertText(text);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**/runs/${shed}`);
  }
  await page.goto("/runs"); // on the page of a run, / looks through its log
  await page.keyboard.press("/");
  await page.keyboard.insertText("paint");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/search?q=paint");
  const hits = page.getByRole("region", { name: "Runs with these words" });
  assert.deepEqual(await hits.locator("td.main a").allTextContents(), ["Paint the <b>fence</b>", "Paint the shed"]);
  assert.equal(await page.locator("#search").inputValue(), "paint");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${shed}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a factory is found by its name, a delivery by its id", async () => {
  const factory = await server.api("/factory", { body: { name: "Search works" } });
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "Inbox", auth_mode: "url_token" } });
  const sent = await fetch(hook.ingress_url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const delivery = (await sent.json()).delivery_id;
  const { page, context } = await member(browser, server.url);
  await page.goto(`/search?q=${delivery}`);
  assert.equal(new URL(page.url()).pathname, `/factories/${factory.uid}/webhooks/${hook.uid}/deliveries/${delivery}`);
  await page.goto("/search?q=Inbox");
  assert.equal(new URL(page.url()).pathname, `/factories/${factory.uid}/webhooks/${hook.uid}`);
  await page.goto("/search?q=search+works");
  assert.equal(new URL(page.url()).pathname, `/factories/${factory.uid}`);

  // A run is found by the words of its prompt, and not by those that the server adds about the delivery.
  const triggers = [{ provider: "webhook", event: "received", filter: { webhooks: ["Inbox"] } }];
  const automation = await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "tidies", title: "Tidied by colour", prompt: "Sort the buttons.", config: { worker_host: "never-connected" }, triggers },
  });
  assert.equal((await fetch(hook.ingress_url, { method: "POST", body: '{"n":2}' })).status, 202);
  const [run] = (await server.api(`/agent/runs?creator=automation_${automation.uid}`)).runs;
  assert.match((await server.run(run.run_id)).prompt, /untrusted/);
  await indexed(page, "buttons", "Tidied by colour");
  await page.goto("/search?q=untrusted");
  await page.getByRole("heading", { name: "Nothing found" }).waitFor();
  await context.close();

  const another = await server.api("/factory", { body: { name: "another" } });
  const stranger = (await server.api("/apikeys", { body: { name: "elsewhere", role: "viewer", factory_uids: [another.uid] } })).key;
  const limited = await member(browser, server.url, { key: stranger });
  for (const text of [delivery, "Inbox", "search works", shed, "paint"]) {
    await limited.page.goto(`/search?q=${encodeURIComponent(text)}`);
    await limited.page.getByRole("heading", { name: "Nothing found" }).waitFor();
  }
  await limited.context.close();
});

test("I-2 an error code leads to the runs that failed with it, from the palette and from the field", async () => {
  const runID = await server.startRun({ title: "Breaks in the search", prompt: shell("exit 3") });
  await server.ended(runID);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.keyboard.press("Control+k");
  await page.keyboard.insertText("agent_process");
  await page.getByRole("link", { name: /Runs that failed with agent_process_failed/ }).click();
  await page.waitForURL("**/runs?error=agent_process_failed");
  await page.getByRole("link", { name: "Breaks in the search" }).waitFor();
  await page.goto("/costs");
  await page.keyboard.press("/");
  await page.keyboard.insertText("agent_process_failed");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/runs?error=agent_process_failed");
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the page of a search is sound", async () => {
  const { page, context } = await member(browser, server.url);
  await page.goto("/search");
  for (const word of ["shed", "fence"]) await indexed(page, word, word);
  await context.close();
  await sound(browser, server.url, {
    words: "/search?q=paint", ids: `/search?q=${shed.slice(0, 8)}`, nothing: "/search?q=" + "nothing".repeat(40),
  });
});

test("I-2 Ctrl K goes to pages, names and actions as one types, and the field on top finds them, too", async () => {
  const factory = await server.api("/factory", { body: { name: "Palette works" } });
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "issues-of-the-palette" } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/settings");
  const palette = page.getByRole("dialog", { name: "Go to" });
  const found = palette.getByRole("list", { name: "Found" });
  await page.keyboard.press("Control+k");
  await found.getByRole("link", { name: /Overview/ }).waitFor(); // before anything is typed: pages
  await soundHere(page, "palette");
  await page.keyboard.type("of-the-pal");
  await found.getByRole("link", { name: /issues-of-the-palette/ }).waitFor();
  await page.waitForFunction(() => document.querySelector("#palette .found a")?.textContent.includes("issues-of"));
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/webhooks/${hook.uid}`);
  // What somebody has gone to stays chosen when the answer to the last key comes late.
  let answer;
  const asked = new Promise((resolve) => { page.route("**/search?q=costs", (route) => { answer = () => route.continue(); resolve(); }); });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("cost");
  await page.waitForFunction(() => document.querySelector("#palette .found a")?.textContent.includes("Costs"));
  await page.keyboard.type("s");
  await asked;
  await page.keyboard.press("ArrowDown");
  await found.locator("a:focus", { hasText: "Costs" }).evaluate((link) => { link.dataset.before = "yes"; });
  await answer();
  await found.locator("a:focus:not([data-before])", { hasText: "Costs" }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL("**/costs");
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "hidden" });
  await page.keyboard.press("/");
  await page.keyboard.type("lette-wor".replace("-", " "));
  const below = page.getByRole("list", { name: "Suggestions" });
  await below.getByRole("link", { name: /^Palette works/ }).waitFor();
  await soundHere(page, "suggestions");
  await page.keyboard.press("Escape");
  await below.waitFor({ state: "hidden" });
  await page.keyboard.press("ArrowRight"); // the field still has the focus
  await page.keyboard.type("k");
  await below.getByRole("link", { name: /^Palette works/ }).click();
  await page.waitForURL(`**/factories/${factory.uid}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 Ctrl K finds whatever has a name by a part of it", async () => {
  const factory = await server.api("/factory", { body: { name: "Of the orchard" } });
  const triggers = [{ provider: "schedule", event: "cron_fired", schedule: "@daily" }];
  await server.api(`/factory/${factory.uid}/automations`, { body: { name: "prune-orchard", prompt: "Prune.", triggers } });
  await server.api("/secrets", { body: { name: "ORCHARD_TOKEN", value: "a value of a secret" } });
  await server.api("/agent/environments", { body: { config: { name: "Old orchard" } } });
  await server.api("/agent/schedules", { body: { name: "Water the orchard", cron_schedule: "@daily", prompt: "Water." } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/settings");
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to" });
  const found = {
    rchar: [/^prune-orchard Automation/, /^ORCHARD_TOKEN Secret/, /^Old orchard Environment/, /^Water the orchard Schedule/],
    oste: [/^hosted Worker/],
  };
  for (const [part, names] of Object.entries(found)) {
    await palette.getByRole("searchbox").fill(part);
    for (const name of names) await palette.getByRole("link", { name }).waitFor();
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the API reference has a line for a shell for each call", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/api/v1/docs");
  const calls = page.locator("main details", { has: page.locator(".method") });
  await calls.first().locator("summary").click();
  await calls.first().getByLabel(/, in a shell$/).waitFor();
  const lines = await calls.locator("pre[aria-label$=', in a shell']").allTextContents();
  assert.equal(lines.length, await calls.count());
  for (const line of lines) assert.match(line, /^curl -X [A-Z]+ "\$LINESHAFT_URL\//);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 what is pressed in the palette is opened, although what was found meanwhile is something else", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/settings");
  const found = page.getByRole("dialog", { name: "Go to" }).getByRole("list", { name: "Found" });
  let answer;
  const asked = new Promise((resolve) => { page.route("**/search?q=costs", (route) => { answer = () => route.continue(); resolve(); }); });
  await page.keyboard.press("Control+k");
  await page.keyboard.type("cost");
  await page.waitForFunction(() => document.querySelector("#palette .found a")?.textContent.includes("Costs"));
  await page.keyboard.type("s");
  await asked;
  await found.getByRole("link", { name: "Costs" }).first().hover();
  await page.mouse.down();
  const came = page.waitForResponse("**/search?q=costs");
  await answer();
  await (await came).finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); // it was read
  await page.mouse.up();
  await page.waitForURL("**/costs");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the documentation is a click away on every page", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Documentation" }).click();
  await page.waitForURL("**/docs/**");
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByRole("link", { name: "API", exact: true }).first().click();
  await page.waitForURL("**/api/v1/docs");
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const reference = await paper();
  await page.getByRole("link", { name: "Dashboard" }).click();
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  assert.equal(reference, await paper());
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 times are those of the reader's zone, with UTC in the tooltip", async () => {
  const { page, context } = await member(browser, server.url, { timezoneId: "Asia/Tokyo" });
  await page.goto(`/runs/${shed}`);
  const when = page.locator("#log time").first();
  await when.waitFor();
  const [text, title, instant] = await when.evaluate((one) => [one.textContent, one.title, one.dateTime]);
  const there = new Date(Date.parse(instant) + 9 * 3600_000).toISOString();
  assert.equal(text, there.slice(11, 19));
  assert.match(title, new RegExp(`^${there.slice(0, 10)} ${there.slice(11, 19)} Asia/Tokyo, .* UTC$`));
  await context.close();
});
