// Automations: a filter judged while it is typed, tried and counted before it is saved.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member, sound, soundHere } from "./browser.mjs";
import { signedWebhook } from "./sender.mjs";
import { Server } from "./server.mjs";
import { Worker } from "./worker.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

const works = async (name) => {
  const factory = await server.api("/factory", { body: { name } });
  return { factory, hook: await signedWebhook(server, factory.uid, "issues") };
};

/** The automation's runs as the API has them. */
const runsOf = async (uid) => (await server.api(`/agent/runs?creator=automation_${uid}`)).runs;

test("W-15 W-16 an automation is written, mended, tried, counted, saved and fires", async () => {
  const { factory, hook } = await works("Filtered");
  const opened = await hook.send("issues", { action: "opened", issue: { number: 1 } });
  const closed = await hook.send("issues", { action: "closed", issue: { number: 1 } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}`);
  await page.getByRole("link", { name: "New automation" }).click();
  await page.waitForURL("**/automations/new"); // with its script, which listens to what is typed
  await page.getByLabel("Name", { exact: true }).fill("triage");
  await page.getByLabel("Prompt", { exact: true }).fill("Label the issue in event-payload.json.");
  assert.equal(await page.getByRole("checkbox", { name: "issues" }).isChecked(), true, "the only webhook is chosen");

  const filter = page.getByLabel(/^Payload filter/);
  const check = page.locator("#check-0");
  await page.getByText("All must match.").waitFor();
  await filter.pressSequentially("action: opened");
  await check.getByText("Line 1, column 1:").waitFor();
  await check.getByText('write ["opened"]').waitFor();
  await filter.fill("action: [opened]");
  await check.getByText("is opened").waitFor();
  assert.equal(await check.getByText("Line 1").count(), 0);

  const trial = page.locator("#trial");
  await page.getByLabel("Stored delivery").selectOption(opened);
  await page.getByRole("button", { name: "Test" }).click();
  await trial.getByText("Would trigger").waitFor();
  assert.match(await trial.getByRole("row", { name: /action/ }).textContent(), /pass.*action.*is one of.*\["opened"\].*"opened"/);
  await page.getByLabel("Stored delivery").selectOption(closed);
  await page.getByRole("button", { name: "Test" }).click();
  await trial.getByText("Would not trigger").waitFor();
  assert.match(await trial.getByRole("row", { name: /action/ }).textContent(), /fail.*action.*is one of.*\["opened"\].*"closed"/);
  await page.getByText("Or paste a payload").click();
  await page.getByLabel("Body, as JSON").fill('{"action": "opened"}');
  await page.getByRole("button", { name: "Test" }).click();
  await trial.getByText("Would trigger").waitFor();

  const backtest = page.locator("#backtest");
  await backtest.getByText("Of the last 2 stored deliveries, 1 would have started a run. 0 start one").waitFor();
  await page.getByText("Limits and set-up").click();
  await page.getByLabel("Worker", { exact: true }).fill("never-connected");
  await page.getByRole("button", { name: "Create automation" }).click();
  await page.getByText("The automation is created.").waitFor();
  const uid = new URL(page.url()).pathname.split("/").at(-1);
  assert.deepEqual(await runsOf(uid), [], "nothing that came before starts a run");

  await hook.send("issues", { action: "opened", issue: { number: 2 } });
  await page.reload();
  await page.getByRole("heading", { name: "Recent runs" }).waitFor();
  assert.equal(await page.getByRole("row", { name: /Queued #2/ }).count(), 1, "it is called after the issue");
  await server.cancel((await runsOf(uid))[0].run_id);

  await page.getByRole("link", { name: "Edit" }).click();
  await backtest.getByText("Of the last 3 stored deliveries, 2 would have started a run. 2 start one").waitFor();
  await filter.fill("");
  await check.getByText("whatever it says").waitFor();
  await page.getByRole("button", { name: "Count again" }).click();
  await backtest.getByText("Of the last 3 stored deliveries, 3 would have started a run. 2 start one").waitFor();
  await page.getByLabel("Title of its runs").fill("Issue {{payload.issue.number}}");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The automation is changed.").waitFor();
  await hook.send("issues", { action: "closed", issue: { number: 3 } });
  await page.reload();
  await page.getByRole("row", { name: /Queued Issue 3/ }).waitFor();
  for (const run of await runsOf(uid)) if (run.state === "QUEUED") await server.cancel(run.run_id);

  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("triage is disabled").waitFor();
  await hook.send("issues", { action: "opened", issue: { number: 4 } });
  assert.equal((await runsOf(uid)).length, 2, "a disabled automation starts nothing");

  await page.getByRole("link", { name: "Delete automation" }).click();
  await page.getByText("Webhook issues gets a delivery").waitFor();
  await page.getByRole("button", { name: "Delete automation" }).click();
  await page.getByText("The automation is deleted.").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-15 a trial begins with the newest delivery that the automation listens to", async () => {
  const { uid } = await server.api("/factory", { body: { name: "Two webhooks" } });
  const [heard, other] = await Promise.all(["heard", "other"].map((name) => server.api(`/factory/${uid}/webhooks`, { body: { name, auth_mode: "url_token" } })));
  const automation = await server.api(`/factory/${uid}/automations`, {
    body: { name: "listens", prompt: "Look.", triggers: [{ provider: "webhook", event: "received", filter: { webhook_ids: [heard.uid], payload: { never: ["matches"] } } }] },
  });
  for (const hook of [heard, other]) assert.equal((await fetch(hook.ingress_url, { method: "POST", body: "{}" })).status, 202);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${uid}/automations/${automation.uid}/edit`);
  assert.match(await page.locator("#delivery option", { hasText: "other" }).textContent(), /other/);
  assert.match(await page.locator("#delivery option:checked").textContent(), /^heard/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 fields of a stored delivery are chosen for the filter, without JavaScript too", async () => {
  const { factory, hook } = await works("Chosen");
  await hook.send("issues", { action: "opened", issue: { number: 7, labels: [{ name: "bug" }] } });
  for (const javaScriptEnabled of [true, false]) {
    const { page, context, complaints } = await member(browser, server.url, { javaScriptEnabled });
    await page.goto(`/factories/${factory.uid}/automations/new`);
    await page.getByLabel("Name", { exact: true }).fill("typed before");
    await page.getByRole("button", { name: "Choose from a delivery" }).click();
    await page.getByRole("button", { name: "issue.labels.name" }).click();
    await page.locator("textarea", { hasText: "bug" }).waitFor();
    await page.getByRole("button", { name: "action" }).click();
    await page.locator("textarea", { hasText: "opened" }).waitFor();
    await page.getByRole("button", { name: "Test" }).click();
    await page.getByText("Would trigger", { exact: true }).waitFor();
    await page.locator("tr.pass").nth(2).waitFor();
    assert.equal(await page.locator("tr.pass").count(), 3); // the webhook is one
    assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "typed before");
    if (javaScriptEnabled) await soundHere(page, "automation form with fields of a delivery");
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

test("I-2 an automation is run by hand, without JavaScript too", async () => {
  const { factory } = await works("By hand");
  const made = await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "sweep", prompt: "Sweep.", triggers: [{ provider: "schedule", event: "cron_fired", schedule: { cron: "0 2 * * *" } }] },
  });
  for (const javaScriptEnabled of [true, false]) {
    const { page, context } = await member(browser, server.url, { javaScriptEnabled });
    await page.goto(`/factories/${factory.uid}/automations/${made.uid}`);
    await page.getByRole("button", { name: "Run now", exact: true }).click();
    await page.waitForURL("**/runs/*");
    await page.getByRole("heading", { level: 1, name: "sweep" }).waitFor();
    const run = await server.api(`/agent/runs/${new URL(page.url()).pathname.split("/")[2]}`);
    assert.deepEqual([run.title, run.prompt], ["sweep", "Sweep."]);
    await context.close();
  }
});

test("I-2 an automation that cannot be run by hand says why, and what to do instead", async () => {
  const { factory, hook } = await works("Not by hand");
  const delivery = await hook.send("issues", { action: "opened" });
  const made = await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "elsewhere", prompt: "Look.", config: { worker_host: "far" }, triggers: [{ provider: "webhook", event: "received", filter: { webhooks: ["issues"] } }] },
  });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}/automations/${made.uid}`);
  await page.getByText("You cannot start it by hand: it names a worker").waitFor();
  assert.equal(await page.getByRole("button", { name: "Run now" }).count(), 0);
  await page.getByRole("link", { name: "Redeliver a delivery" }).click();
  await page.locator(`main a[href*="${delivery}"]`).first().waitFor({ state: "attached" });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the list shows how the last runs of each automation ended, and leads to them", async () => {
  const { factory, hook } = await works("Has run");
  const made = await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "marked", prompt: "Look.", config: { worker_host: "marks" }, triggers: [{ provider: "webhook", event: "received", filter: { webhooks: ["issues"] } }] },
  });
  for (const state of ["FAILED", "SUCCEEDED", "SUCCEEDED"]) {
    const worker = await Worker.claim(server, { host: "marks", start: () => hook.send("issues", { state }) });
    await worker.end(state);
  }
  const { page, context, complaints } = await member(browser, server.url, { viewport: { width: 360, height: 800 } });
  await page.goto(`/automations?factory=${factory.uid}`);
  const marks = page.getByRole("row", { name: /marked/ }).getByRole("link", { name: "Last 3 runs: 1 failed, 2 succeeded" });
  const seen = await marks.locator("i").evaluateAll((all) => all.map((one) => [one.getBoundingClientRect().left, one.className, getComputedStyle(one, "::before").backgroundColor]));
  assert.deepEqual(seen.sort(([a], [b]) => a - b).map(([, name]) => name), ["badge failed", "badge succeeded", "badge succeeded"]);
  assert.equal(new Set(seen.map(([, , colour]) => colour)).size, 2);
  await soundHere(page, "automations with marks");
  await marks.click();
  await page.waitForURL(`**/runs?creator=automation_${made.uid}`);
  assert.equal(await page.locator("main tbody tr").count(), 3);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 several triggers are added and removed, and cron tells its next times", async () => {
  const { factory } = await works("Several");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}/automations/new`);
  await page.getByLabel("Name", { exact: true }).fill("many");
  await page.getByLabel("Prompt", { exact: true }).fill("Look.");
  await page.getByRole("button", { name: "Schedule" }).click();
  const cron = page.getByLabel("Cron", { exact: true });
  await cron.waitFor();
  assert.equal(await cron.evaluate((field) => field === document.activeElement), true, "what was added has the focus");
  await cron.fill("0 9 * * 8");
  await page.locator("#check-1 .callout.bad").waitFor();
  await cron.fill("0 9 * * 1");
  await page.getByLabel("Time zone").fill("Europe/Berlin");
  await page.locator("#check-1").getByText(/Next: (Mon .*09:00 CES?T.*){5}/).waitFor();
  await page.getByRole("button", { name: "GitHub" }).click();
  await page.getByLabel("Event", { exact: true }).fill("issue_opend");
  await page.locator("#check-2").getByText("issue_opened").waitFor();
  await page.getByLabel("Event", { exact: true }).fill("issue_opened");
  await page.getByLabel(/^Conditions/).fill("label: [bug]");
  await page.locator("#check-2").getByText("did you mean labels?").waitFor();
  await page.getByLabel(/^Conditions/).fill("labels: [bug]");
  await page.locator("#check-2").getByText("is bug").waitFor();
  await page.getByRole("group", { name: "Webhook" }).getByRole("button", { name: "Remove this trigger" }).click();
  await page.getByLabel(/^Payload filter/).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create automation" }).click();
  await page.getByText("The automation is created.").waitFor();
  await page.getByText("Every Monday at 09:00, Europe/Berlin").waitFor();
  await page.getByText("GitHub event issue_opened").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 of two fields of a trigger the last one that was typed counts, whichever answer comes last", async () => {
  const { factory } = await works("Out of order");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}/automations/new`);
  await page.getByRole("button", { name: "Schedule" }).click();
  const check = page.locator("#check-1");
  let told;
  const asked = new Promise((resolve) => (told = resolve));
  await page.route("**/automations/draft", (route) => told(route), { times: 1 });
  await page.getByLabel("Cron", { exact: true }).fill("0 9 * * 1");
  const early = await asked;
  await page.getByLabel("Time zone").fill("Asia/Tokyo");
  await check.getByText("09:00 JST").waitFor();
  await page.evaluate(() => {
    window.strange = false;
    const place = document.getElementById("check-1");
    new MutationObserver(() => (window.strange ||= !place.textContent.includes("JST"))).observe(place, { childList: true, subtree: true });
  });
  await early.continue().catch(() => {}); // who asked may not wait any more
  await page.getByLabel("Cron", { exact: true }).fill("0 10 * * 1");
  await check.getByText("10:00 JST").waitFor();
  assert.equal(await page.evaluate(() => window.strange), false);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 an automation is made with the keyboard alone", async () => {
  const { factory } = await works("By keys");
  const { page, context } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}`);
  const reach = async (target) => {
    for (let i = 0; i < 120; i++) {
      if (await target.evaluate((one) => one === document.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`${target} is not reached with Tab`);
  };
  await reach(page.getByRole("link", { name: "New automation" }));
  await page.keyboard.press("Enter");
  await page.waitForURL(/automations\/new$/);
  await reach(page.getByLabel("Name", { exact: true }));
  await page.keyboard.type("keys");
  await reach(page.getByLabel("Prompt", { exact: true }));
  await page.keyboard.type("Look.");
  await reach(page.getByLabel(/^Payload filter/));
  await page.keyboard.type("action: [opened]");
  await page.locator("#check-0").getByText("is opened").waitFor();
  await reach(page.getByRole("button", { name: "Create automation" }));
  await page.keyboard.press("Enter");
  await page.getByText("The automation is created.").waitFor();
  await reach(page.getByRole("button", { name: "Disable" }));
  await page.keyboard.press("Enter");
  await page.getByText("keys is disabled").waitFor();
  await context.close();
});

test("I-2 Enter in a field of the editor saves, and removes no trigger", async () => {
  const { factory, hook } = await works("Enters");
  const { page, context } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}/automations/new`);
  await page.getByLabel("Prompt", { exact: true }).fill("Look.");
  await page.getByLabel("Name", { exact: true }).fill("entered");
  await page.getByLabel("Name", { exact: true }).press("Enter");
  await page.getByText("The automation is created.").waitFor();
  const { automations } = await server.api(`/factory/${factory.uid}/automations`);
  assert.deepEqual(automations.map((one) => one.triggers.map((t) => t.filter)), [[{ webhooks: [hook.name] }]]);
  await context.close();
});

test("I-2 an automation has a harness and tool servers of its own", async () => {
  const { factory } = await works("Tools");
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}/automations/new`);
  await page.getByLabel("Prompt", { exact: true }).fill("Look.");
  await page.getByLabel("Name", { exact: true }).fill("tooled");
  await page.getByText("Limits and set-up").click();
  await page.getByRole("button", { name: "Add tool server" }).click();
  const row = page.getByRole("group", { name: "Tool server 1" });
  await row.getByLabel("Name").fill("tracker");
  await row.getByLabel("URL").fill("https://tracker.example/mcp");
  await page.getByLabel("Harness").selectOption("codex");
  await page.getByRole("button", { name: "Create automation" }).click();
  await page.getByText("The automation is created.").waitFor();
  for (const text of ["tracker", "codex"]) await page.locator(".facts dd", { hasText: text }).waitFor();
  const { automations } = await server.api(`/factory/${factory.uid}/automations`);
  assert.deepEqual(automations[0].config.mcp_servers, { tracker: { url: "https://tracker.example/mcp" } });
  assert.equal(automations[0].config.harness.type, "codex");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 without scripts the editor still tries and saves", async () => {
  const { factory, hook } = await works("Plain");
  const opened = await hook.send("issues", { action: "opened" });
  const context = await browser.newContext({ baseURL: server.url, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("/login");
  await page.getByLabel("API key").fill(process.env.LINESHAFT_ADMIN_KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.goto(`/factories/${factory.uid}/automations/new`);
  await page.getByLabel("Name", { exact: true }).fill("plain");
  await page.getByLabel("Prompt", { exact: true }).fill("Look.");
  await page.getByLabel(/^Payload filter/).fill("action: [opened]");
  await page.getByLabel("Stored delivery").selectOption(opened);
  await page.getByRole("button", { name: "Test" }).click();
  await page.getByText("Would trigger").waitFor();
  await page.getByRole("button", { name: "Schedule" }).click();
  await page.getByLabel("Cron", { exact: true }).waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "plain");
  await page.getByRole("button", { name: "Create automation" }).click();
  await page.getByText("The automation is created.").waitFor();
  await context.close();
});

test("I-2 S-3 the pages of automations are sound, and a viewer has no buttons", async () => {
  const { factory, hook } = await works("Sound");
  const delivery = await hook.send("issues", { action: "closed", title: "<img src=x onerror=alert(1)>" + "x".repeat(300) });
  const made = await server.api(`/factory/${factory.uid}/automations`, {
    body: {
      name: "a-name-that-is-as-long-as-names-may-be-".padEnd(100, "y"), prompt: "Look.",
      triggers: [
        { provider: "webhook", event: "received", filter: { webhooks: ["issues"], payload: { action: ["opened"], title: { exists: true } } } },
        { provider: "schedule", event: "cron_fired", schedule: "@daily" },
      ],
    },
  });
  const at = `/factories/${factory.uid}/automations/${made.uid}`;
  await sound(browser, server.url, { "automation, tried": `${at}?delivery=${delivery}`, "automation editor": `${at}/edit` });
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await page.goto(`${at}?delivery=${delivery}`);
  await page.getByText("Would not trigger").waitFor();
  for (const name of ["Disable", "Edit", "Delete automation"]) assert.equal(await page.getByText(name, { exact: true }).count(), 0, name);
  const post = (path) => page.evaluate((url) => fetch(url, { method: "POST", body: new URLSearchParams({ enabled: "false" }) }).then((r) => r.status), path);
  for (const path of [at, `${at}/enable`, `${at}/delete`, `/factories/${factory.uid}/automations/draft`]) assert.equal(await post(path), 403, path);
  assert.equal((await server.api(at.replace("/factories/", "/factory/"))).enabled, true);
  await context.close();
});
