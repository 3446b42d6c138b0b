// I-2, R-4 the list of runs: filters, live rows, paging, bulk cancel.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { everything, indexed, launch, looks, member, sound } from "./browser.mjs";
import { startWire } from "./cutter.mjs";
import { Server, shell } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

const row = (page, title) => page.getByRole("row").filter({ has: page.getByRole("link", { name: title, exact: true }) });
const inState = (page, title, state) => row(page, title).locator("td.state", { hasText: state }).waitFor();
const titles = (page) => page.$$eval("#list td.main a", (links) => links.map((link) => link.textContent));
const live = (page) => page.locator("#live", { hasText: "Live" }).waitFor();
const gated = (title) => ({ title, prompt: shell("mkfifo gate", "echo ready", "read a <gate") });

test("I-2 a run that is started and ends is seen without a reload", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.getByRole("heading", { name: "No runs yet" }).waitFor();
  await live(page);
  const runID = await server.startRun(gated("Appears by itself"));
  await inState(page, "Appears by itself", "In progress");
  await server.openGate(runID);
  await inState(page, "Appears by itself", "Succeeded");
  assert.equal(await page.evaluate(() => performance.getEntriesByType("navigation")[0].type), "navigate");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a row that changes while its link is pressed is opened all the same", async () => {
  const runID = await server.startRun(gated("Pressed while it changes"));
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  await inState(page, "Pressed while it changes", "In progress");
  await page.getByRole("link", { name: "Pressed while it changes", exact: true }).hover();
  await page.mouse.down();
  const news = page.waitForResponse(async (answer) => answer.url().includes("/runs/rows") && (await answer.text()).includes("Succeeded"));
  await server.openGate(runID);
  await news;
  await page.mouse.up();
  await page.waitForURL(`**/runs/${runID}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 while somebody reads, new runs are only announced, and rows still follow", async () => {
  const waiting = await server.parkRun("Waits for its end");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  await row(page, "Waits for its end").getByRole("checkbox").check();
  const before = await titles(page);
  await server.parkRun("Comes meanwhile");
  await page.getByRole("link", { name: "1 new run" }).waitFor();
  assert.deepEqual(await titles(page), before);
  assert.ok(await row(page, "Waits for its end").getByRole("checkbox").isChecked());
  await server.cancel(waiting);
  await inState(page, "Waits for its end", "Cancelled");
  assert.deepEqual(await titles(page), before);
  await page.getByRole("link", { name: "1 new run" }).click();
  await row(page, "Comes meanwhile").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-4 filters are in the address, survive reload and the way back, and go away one by one", async () => {
  const failed = await server.startRun({ title: "Breaks at once", prompt: shell("exit 3") });
  const fine = await server.startRun({ title: "Goes well", prompt: shell("echo fine"), config: { name: "filters" } });
  const parked = await server.parkRun("Has not ended");
  await Promise.all([server.ended(failed), server.ended(fine)]);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.locator("label.chip", { hasText: "Failed" }).click();
  await page.waitForURL("**/runs?state=FAILED");
  await row(page, "Goes well").waitFor({ state: "detached" });
  assert.deepEqual(await titles(page), ["Breaks at once"]);
  await indexed(page, "breaks", "Breaks at once");
  await page.getByLabel("Words in title or prompt").fill("breaks");
  await page.waitForURL("**/runs?q=breaks&state=FAILED");
  await page.getByText("More filters").click();
  await page.getByLabel("Source").selectOption({ label: "API" });
  await page.waitForURL("**/runs?q=breaks&source=API&state=FAILED");
  await page.getByRole("list", { name: "Active filters" }).getByRole("link", { name: /Source API/ }).waitFor();
  await page.reload();
  assert.deepEqual(await titles(page), ["Breaks at once"]);
  assert.equal(await page.getByLabel("Words in title or prompt").inputValue(), "breaks");
  assert.ok(await page.getByLabel("Failed").isChecked());
  assert.equal(await page.getByLabel("Source").inputValue(), "API");

  await page.getByRole("link", { name: /Source API/ }).click();
  await page.waitForURL("**/runs?q=breaks&state=FAILED");
  await page.goBack();
  await page.waitForURL("**/runs?q=breaks&source=API&state=FAILED");
  await page.getByRole("link", { name: /Source API/ }).waitFor();
  await page.getByRole("link", { name: "Clear all filters" }).click();
  await page.waitForURL("**/runs");
  await row(page, "Goes well").waitFor();

  for (const [name, title] of [["Failed today", "Breaks at once"], ["Active", "Has not ended"]]) {
    await page.getByRole("navigation", { name: "Common lists" }).getByRole("link", { name, exact: true }).click();
    await page.getByRole("navigation", { name: "Common lists" }).locator("[aria-current=page]", { hasText: name }).waitFor();
    const shown = await titles(page);
    assert.ok(shown.includes(title) && !shown.includes("Goes well"), `${name}: ${shown}`);
  }
  await server.cancel(parked);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-4 the form also filters by agent and model, and only what can be cancelled has buttons for that", async () => {
  const { uid } = await server.api("/agent/identities", { body: { name: "filtered-for", prompt: "Work.", worker_host: "never-connected" } });
  await server.startRun({ title: "Of that agent", prompt: "wait", agent_identity_uid: uid, config: { model_id: "model-of-the-filter" } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.getByText("More filters").click();
  await page.locator("#agent").selectOption({ label: "filtered-for" });
  await page.getByRole("list", { name: "Active filters" }).getByRole("link", { name: /Agent filtered-for/ }).waitFor();
  assert.deepEqual(await titles(page), ["Of that agent"]);
  await page.locator("#model").fill("model-of-the-filter");
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs?agent=${uid}&model=model-of-the-filter`);
  await page.getByRole("link", { name: /Model model-of-the-filter/ }).waitFor();
  assert.deepEqual(await titles(page), ["Of that agent"]);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download as CSV" }).click()]);
  let text = "";
  for await (const piece of await download.createReadStream()) text += piece;
  assert.equal(download.suggestedFilename(), "runs.csv");
  assert.deepEqual(text.trim().split("\n").slice(1).map((line) => line.split(",").slice(1, 3)), [["Of that agent", "QUEUED"]]);
  const button = page.getByRole("button", { name: "Cancel selected" });
  assert.ok(await button.isVisible());
  await page.goto("/runs?state=FAILED");
  await row(page, "Breaks at once").waitFor();
  assert.equal(await button.isVisible(), false);
  assert.equal(await page.getByRole("link", { name: "Cancel all that match" }).count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-4 the form also filters by automation, webhook and error code", async () => {
  const factory = await server.api("/factory", { body: { name: "Filter works" } });
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "Inbox", auth_mode: "url_token" } });
  const trigger = { provider: "webhook", event: "received", filter: { webhook_ids: [hook.uid] } };
  const automation = await server.api(`/factory/${factory.uid}/automations`, { body: { name: "triage", prompt: shell("exit 3"), enabled: true, triggers: [trigger] } });
  const sent = await fetch(hook.ingress_url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
  const delivery = await server.api(`/factory/${factory.uid}/webhooks/${hook.uid}/deliveries/${(await sent.json()).delivery_id}`);
  const runID = delivery.outcomes[0].run_id;
  await server.ended(runID);
  const { title } = await server.api(`/agent/runs/${runID}`);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await page.getByText("More filters").click();
  const only = async (field, label, chip, address) => {
    await page.locator(field).selectOption({ label });
    await page.waitForURL(`**/runs?${address}`);
    await page.getByRole("list", { name: "Active filters" }).getByRole("link", { name: chip }).waitFor();
    assert.deepEqual(await titles(page), [title]);
  };
  await only("#automation", "Filter works / triage", /Automation Filter works \/ triage/, `automation=${automation.uid}`);
  await only("#webhook", "Filter works / Inbox", /Webhook Filter works \/ Inbox/, `automation=${automation.uid}&webhook=${hook.uid}`);
  await only("#error", "agent_process_failed", /Error code agent_process_failed/, `automation=${automation.uid}&error=agent_process_failed&webhook=${hook.uid}`);
  await page.getByRole("link", { name: /Automation Filter works/ }).click();
  await page.waitForURL(`**/runs?error=agent_process_failed&webhook=${hook.uid}`);
  assert.deepEqual(await titles(page), [title]);
  await page.locator("#error").selectOption({ label: "run_timeout" });
  await page.getByRole("heading", { name: "No run matches" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();

  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  await plain.page.goto("/runs?error=run_timeout");
  await plain.page.locator("#error").selectOption({ label: "agent_process_failed" });
  await plain.page.locator("#webhook").selectOption({ label: "Filter works / Inbox" });
  await plain.page.getByRole("button", { name: "Apply" }).click();
  await plain.page.waitForURL(`**/runs?error=agent_process_failed&webhook=${hook.uid}`);
  assert.deepEqual(await plain.page.locator("#list td.main a").allTextContents(), [title]);
  await plain.context.close();
});

test("R-4 the states of live runs have numbers that follow, until something else is filtered", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?state=FAILED");
  await live(page);
  const queued = page.locator("#n-QUEUED"), working = page.locator("#n-INPROGRESS");
  const now = async () => Number((await queued.textContent()) || 0);
  const before = await now();
  const parked = await server.parkRun("Counted", "never-there");
  const runID = await server.startRun(gated("Counted at work"));
  await page.waitForFunction(([n]) => document.getElementById("n-QUEUED").textContent === n, [String(before + 1)]);
  await working.getByText("1").waitFor();
  await page.locator("label.chip", { hasText: "Queued" }).click();
  await row(page, "Counted").waitFor();
  assert.equal(await now(), before + 1);
  await server.openGate(runID);
  await page.waitForFunction(() => document.getElementById("n-INPROGRESS").textContent === "");
  await page.getByText("More filters").click();
  await page.getByLabel("Source").selectOption({ label: "API" });
  await page.waitForURL("**/runs?source=API**");
  await page.waitForFunction(() => document.getElementById("n-QUEUED").textContent === "");
  await page.getByRole("link", { name: /Source API/ }).click();
  await page.waitForURL((url) => !url.search.includes("source"));
  await server.cancel(parked);
  if (before > 0) await page.waitForFunction(([n]) => document.getElementById("n-QUEUED").textContent === n, [String(before)]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-4 the heads of columns sort the list, with the keyboard and without scripts, and new runs take their place in it", async () => {
  for (const title of ["Mill", "Anvil", "Zinc"]) await server.parkRun(title, "sorted");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?host=sorted");
  assert.deepEqual(await titles(page), ["Zinc", "Anvil", "Mill"]);
  await page.getByRole("columnheader", { name: "Run", exact: true }).getByRole("link").press("Enter");
  await page.waitForURL("**/runs?host=sorted&sort=title");
  assert.deepEqual(await titles(page), ["Anvil", "Mill", "Zinc"]);
  assert.equal(await page.locator("th[aria-sort=ascending]").textContent(), "Run");
  await live(page);
  await server.parkRun("Lathe", "sorted");
  await row(page, "Lathe").waitFor();
  assert.deepEqual(await titles(page), ["Anvil", "Lathe", "Mill", "Zinc"]);
  await page.getByLabel("Order").selectOption({ label: "Oldest first" });
  await page.waitForURL("**/runs?host=sorted&sort=oldest");
  await page.locator("th[aria-sort]").waitFor({ state: "detached" });
  assert.deepEqual(await titles(page), ["Mill", "Anvil", "Zinc", "Lathe"]);
  assert.deepEqual(complaints, []);
  await context.close();

  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  await plain.page.goto("/runs?host=sorted&sort=title");
  await plain.page.getByRole("link", { name: "Run", exact: true }).click();
  await plain.page.waitForURL("**/runs?host=sorted&sort=title-desc");
  assert.deepEqual(await plain.page.locator("#list td.main a").allTextContents(), ["Zinc", "Mill", "Lathe", "Anvil"]);
  await plain.context.close();
});

test("R-4 one change of the filters is one step back, however it was made", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  const steps = () => page.evaluate(() => history.length);
  const before = await steps();
  const words = page.getByLabel("Words in title or prompt");
  await words.fill("nothing has these words");
  await page.waitForURL("**/runs?q=nothing**");
  await page.getByRole("heading", { name: "No run matches" }).waitFor();
  await words.press("Enter");
  await words.blur(); // a browser says now that the field has changed, which is no news
  await page.locator("label.chip", { hasText: "Failed" }).click();
  await page.waitForURL("**/runs?q=nothing*&state=FAILED");
  assert.equal(await steps(), before + 2);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-4 a filter that is set while its list is read again stays, and the last of two counts", async () => {
  const failed = await server.startRun({ title: "Fails before", prompt: shell("exit 3") });
  await server.ended(failed);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  const held = [];
  let told;
  const asked = new Promise((resolve) => (told = resolve));
  await page.route("**/runs", (route) => told(held.push(route))); // the whole list, which the page reads when a run comes
  const parked = await server.parkRun("Comes while it is filtered");
  await asked;
  await page.route(({ searchParams }) => searchParams.get("state") === "ERROR", (route) => held.push(route)); // this answer comes never
  await page.locator("label.chip", { hasText: "Error" }).click();
  await page.waitForFunction(() => getComputedStyle(document.getElementById("list")).opacity === "0.5"); // it is being read
  await page.locator("label.chip", { hasText: "Error" }).click();
  await page.locator("label.chip", { hasText: "Failed" }).click();
  await row(page, "Fails before").waitFor();
  await page.waitForURL("**/runs?state=FAILED");
  await page.evaluate(() => {
    const look = () => (window.strange ||= document.getElementById("list").textContent.includes("Comes while it is filtered"));
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
    look();
  });
  await held[0].continue();
  await page.evaluate(() => document.activeElement.blur());
  await server.ended(await server.startRun({ title: "Fails after", prompt: shell("exit 3") }));
  await row(page, "Fails after").waitFor(); // which is read after the answer that was held
  assert.equal(await page.evaluate(() => window.strange), false);
  assert.deepEqual(complaints, []);
  await server.cancel(parked);
  await context.close();
});

test("I-2 a row that is picked while the list is read again stays picked", async () => {
  const waiting = await server.parkRun("Picked meanwhile");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  let told;
  const asked = new Promise((resolve) => (told = resolve));
  await page.route("**/runs", (route) => told(route), { times: 1 });
  const parked = await server.parkRun("Comes while one picks");
  const answer = await asked;
  await row(page, "Picked meanwhile").getByRole("checkbox").check();
  await answer.continue();
  await page.getByRole("link", { name: "1 new run" }).waitFor();
  assert.ok(await row(page, "Picked meanwhile").getByRole("checkbox").isChecked());
  await row(page, "Picked meanwhile").getByRole("checkbox").uncheck();
  await page.evaluate(() => document.activeElement.blur());
  await server.cancel(waiting);
  await row(page, "Comes while one picks").waitFor();
  await server.cancel(parked);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("R-4 a page that htmx has filled goes back and stays live", async () => {
  const other = await server.parkRun("There before");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  await page.locator("label.chip", { hasText: "Blocked" }).click();
  await page.getByRole("heading", { name: "No run matches" }).waitFor();
  await page.goBack();
  await page.waitForURL("**/runs");
  await row(page, "There before").waitFor();
  assert.ok(!(await page.getByLabel("Blocked").isChecked()));
  await page.evaluate(() => document.activeElement.blur());
  const runID = await server.parkRun("After the way back");
  await row(page, "After the way back").waitFor();
  await server.cancel(runID);
  await inState(page, "After the way back", "Cancelled");
  await server.cancel(other);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 what happens while the connection is cut is seen afterwards", async () => {
  const wire = await startWire(server.url);
  const runID = await server.parkRun("Ends while nobody hears");
  const { page, context } = await member(browser, wire.url);
  await page.goto("/runs");
  await live(page);
  wire.cut();
  await server.cancel(runID);
  const other = await server.parkRun("Begins while nobody hears");
  wire.mend();
  await inState(page, "Ends while nobody hears", "Cancelled");
  await row(page, "Begins while nobody hears").waitFor();
  await server.cancel(other);
  await context.close();
  await wire.close();
});

test("R-4 bulk cancel asks, names the runs, and cancels only those", async () => {
  const picked = await Promise.all([1, 2].map((n) => server.parkRun(`Pick ${n}`, "pick")));
  const kept = await server.parkRun("Keep this one", "keep");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?host=pick");
  assert.ok(await page.getByRole("button", { name: "Cancel selected" }).isDisabled());
  await page.getByLabel("Select all on this page").check();
  await page.getByRole("button", { name: "Cancel selected (2)" }).click();
  await page.getByRole("heading", { name: "Cancel 2 runs" }).waitFor();
  for (const n of [1, 2]) await page.getByRole("link", { name: `Pick ${n}` }).waitFor();
  for (const id of picked) assert.equal((await server.run(id)).state, "QUEUED");
  await page.getByRole("button", { name: "Cancel 2 runs" }).click();
  await page.getByText("2 runs were cancelled.").waitFor();
  assert.equal(new URL(page.url()).search, "?host=pick");
  for (const id of picked) assert.equal((await server.run(id)).state, "CANCELLED");
  assert.equal((await server.run(kept)).state, "QUEUED");

  await page.goto("/runs?host=keep&state=QUEUED");
  await page.getByRole("link", { name: "Cancel all that match…" }).click();
  await page.getByText("runs that are queued, on the worker keep").waitFor();
  await page.getByRole("button", { name: "Cancel all of them" }).click();
  await page.getByText("1 run was cancelled.").waitFor();
  assert.equal((await server.run(kept)).state, "CANCELLED");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 with the keyboard alone: find, pick and cancel a run", async () => {
  const runID = await server.parkRun("Keyboard only", "keys");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?host=keys");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  assert.ok(await row(page, "Keyboard only").getByRole("checkbox").isChecked());
  const tabTo = async (name) => {
    for (let stops = 0; stops < 60; stops++) {
      await page.keyboard.press("Tab");
      if ((await page.evaluate(() => document.activeElement.textContent.trim())) === name) return;
    }
    assert.fail(`no Tab leads to ${name}`);
  };
  await tabTo("Cancel selected (1)");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Cancel 1 run" }).waitFor();
  await tabTo("Cancel 1 run");
  await page.keyboard.press("Enter");
  await page.getByText("1 run was cancelled.").waitFor();
  assert.equal((await server.run(runID)).state, "CANCELLED");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("S-3 a viewer has no boxes and is refused what it forges", async () => {
  const runID = await server.parkRun("Not for a viewer");
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await page.goto("/runs");
  await row(page, "Not for a viewer").waitFor();
  assert.equal(await page.locator("#list").getByRole("checkbox").count(), 0);
  assert.equal(await page.getByRole("link", { name: /New run|Cancel all/ }).count(), 0);
  assert.equal(await page.getByRole("button", { name: /Cancel/ }).count(), 0);
  const post = (url, form) => page.evaluate(([to, body]) => fetch(to, { method: "POST", body: new URLSearchParams(body) }).then((r) => r.status), [url, form]);
  assert.equal(await post("/runs/cancel", { id: runID }), 403);
  assert.equal(await post("/runs/cancel", { match: "1" }), 403);
  assert.equal(await post("/runs", { prompt: "x" }), 403);
  assert.equal((await page.goto("/runs/new")).status(), 403);
  assert.equal((await server.run(runID)).state, "QUEUED");
  await server.cancel(runID);
  await context.close();
});

const hostile = [
  "<script>window.hacked = 1</script>",
  '"><img src=x onerror="window.hacked = 1">',
  "</bdi></a></td></tr></table><iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
  "abc \u202edcba\u202c \u2066isolated \u200fשלום",
  "{{.Data}} ${window.hacked = 1} javascript:alert(1)",
];

test("S-4 titles full of HTML and direction marks are text, also when they come live", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  const ids = [];
  for (const title of hostile) ids.push(await server.parkRun(title));
  const check = async () => {
    for (const title of hostile) await page.getByRole("link", { name: title, exact: true }).waitFor();
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator("main iframe, main img, main script").count(), 0);
  };
  await check();
  await page.goto("/runs?q=%3Cscript%3E&meta=key%3D%22%3E%3Cimg+src%3Dx");
  assert.equal(await page.locator("main img").count(), 0);
  await page.goto(`/runs/cancel?${ids.map((id) => `id=${id}`).join("&")}`);
  await check();
  assert.deepEqual(complaints, []);
  for (const id of ids) await server.cancel(id);
  await context.close();
});

test("R-4 without JavaScript the filters, the pages and the cancelling work", async () => {
  const runID = await server.parkRun("Without a script", "plain");
  const { page, context } = await member(browser, server.url, { javaScriptEnabled: false });
  await page.goto("/runs?host=plain");
  await page.getByLabel("Queued").check();
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL("**/runs?host=plain&state=QUEUED");
  await row(page, "Without a script").getByRole("checkbox").check();
  await page.getByRole("button", { name: "Cancel selected" }).click();
  await page.getByRole("button", { name: "Cancel 1 run" }).click();
  await page.getByText("1 run was cancelled.").waitFor();
  assert.equal((await server.run(runID)).state, "CANCELLED");
  await context.close();
});

const crowd = everything ? 10_000 : 2000;

test(`R-4 ${crowd} runs: while the last of them come and after, the page has 50 rows and stays live`, async () => {
  const meanwhile = 1000;
  await server.parkMany(crowd - meanwhile);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  await live(page);
  let most = 0;
  await page.exposeFunction("noteRows", (rows) => (most = Math.max(most, rows)));
  await page.evaluate(() => new MutationObserver(() => window.noteRows(document.querySelectorAll("#list tbody tr").length)).observe(document.body, { childList: true, subtree: true }));
  await server.parkMany(meanwhile);
  const last = await server.parkRun("The last of many");
  await row(page, "The last of many").waitFor();
  assert.equal(most, 50);
  assert.equal((await titles(page)).length, 50);
  const elements = () => page.evaluate(() => document.getElementsByTagName("*").length);
  const size = await elements();

  await page.getByRole("link", { name: "Older" }).click();
  await page.waitForURL("**cursor=**");
  const second = await titles(page);
  assert.equal(second.length, 50);
  assert.ok(!second.includes("The last of many"));
  await live(page);
  await server.parkRun("One more");
  await page.getByRole("link", { name: "1 new run" }).waitFor();
  assert.deepEqual(await titles(page), second);
  await page.getByRole("link", { name: "1 new run" }).click();
  await row(page, "One more").waitFor();
  await server.cancel(last);
  await inState(page, "The last of many", "Cancelled");
  assert.ok((await elements()) <= size + 20, `the page grew from ${size} to ${await elements()} elements`);
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the pages of the list are sound", async () => {
  const live = await server.startRun(gated(`A title without a place to break it: ${"long".repeat(40)}`));
  const parked = await server.parkRun("Wait for a worker");
  await sound(browser, server.url, {
    "runs, filtered": "/runs?state=QUEUED&source=API&after=2026-01-01T00:00:00Z&meta=team%3D" + "long".repeat(20),
    "runs, nothing": "/runs?state=BLOCKED",
    "cancel several": `/runs/cancel?id=${live}&id=${parked}`,
    "cancel matching": "/runs/cancel?match=1&state=QUEUED&q=wait",
  });
  await Promise.all([server.cancel(live), server.cancel(parked)]);
});
