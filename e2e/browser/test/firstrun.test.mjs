// I-2 from an empty server to a run that a webhook started, what it cost, and what became of each delivery.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test, { after, before } from "node:test";
import { promisify } from "node:util";
import { launch, looks, member, sound } from "./browser.mjs";
import { Server, shell } from "./server.mjs";
import { Worker } from "./worker.mjs";

const paste = promisify(execFile);
let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 an empty server says that it has no model, names init, and has an example to run", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/");
  await page.locator(".no-model", { hasText: "No model is set up" }).getByText("LINESHAFT_ANTHROPIC_API_KEY").waitFor();
  assert.match(await page.locator(".first-steps li").last().textContent(), /automation create/, "a webhook alone starts nothing");
  assert.deepEqual(await page.getByText("lineshaft init", { exact: true }).count(), 1);
  await page.getByText("bin/lineshaft", { exact: true }).waitFor();
  await sound(browser, server.url, { "empty overview": "/", start: "/start" });
  await page.getByRole("button", { name: "Run an example" }).click();
  await page.waitForURL("**/runs/*");
  await page.locator("#state").getByText("Succeeded").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 six actions lead from the overview to a run that a webhook started", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  let actions = 0;
  const act = (does) => {
    actions++;
    return does;
  };
  await page.goto("/start");
  actions++; // the button of the first steps, which the run of the example has put away
  await act(page.getByRole("combobox", { name: "Sender" }).selectOption({ label: "GitHub" }));
  await act(page.getByRole("button", { name: "Create all three" }).click());
  await page.getByText("Waiting for the first delivery").waitFor();
  await page.getByText("This address works only on this machine or network").waitFor();
  assert.equal(await page.getByRole("link", { name: "New automation for it" }).count(), 0, "one listens already");
  const script = await act(page.locator('pre[aria-label="test command"]').textContent());
  await paste("bash", ["-c", script]);
  const came = page.locator(".wait .callout.good");
  await came.getByText("First delivery arrived: 1 started").waitFor();
  await act(came.getByRole("link", { name: "See the result" }).click());
  await act(page.getByRole("link", { name: "Open run" }).click());
  await page.locator("#state").getByText("Succeeded").waitFor();
  await page.locator("#log .out", { hasText: "acme/shop" }).first().waitFor();
  assert.ok(actions <= 6, `${actions} actions`);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** A webhook with a bearer token, and what sends to it. */
async function hooked(name) {
  const { uid } = await server.api("/factory", { body: { name } });
  const hook = await server.api(`/factory/${uid}/webhooks`, { body: { name: "ci" } });
  const send = async (body, secret = hook.secret, headers = {}) => {
    const response = await fetch(hook.ingress_url, { method: "POST", headers: { authorization: `Bearer ${secret}`, ...headers }, body: JSON.stringify(body) });
    return { status: response.status, id: (await response.json()).delivery_id };
  };
  const automate = (automation, prompt, payload, rest = {}) => server.api(`/factory/${uid}/automations`, {
    body: {
      name: automation, prompt, title: "Build {{payload.build}}", ...rest,
      triggers: [{ provider: "webhook", event: "received", filter: { webhook_ids: [hook.uid], payload } }],
    },
  });
  return { uid, hook, send, automate, at: `/factories/${uid}/webhooks/${hook.uid}` };
}

test("W-11 the log of deliveries tells them apart, names the run, and is narrowed down", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const { hook, send, automate, at } = await hooked("Log of deliveries");
  await automate("explain", shell("echo explained"), { result: ["failed"] });
  const first = await send({ build: 41, result: "failed" });
  await send({ build: 41, result: "failed" });
  await send({ build: 42, result: "fine" });
  await send({ build: 43 }, "wrong");
  await page.goto(at);
  const log = page.locator(".deliveries .delivery-item");
  assert.deepEqual(await log.locator("summary .tag").allTextContents(), ["Rejected (auth)", "Not matched", "Duplicate", "Started"]);
  assert.deepEqual(await log.locator("summary .tag").evaluateAll((tags) => tags.map((tag) => tag.classList[1])), ["bad", "idle", "idle", "good"]);
  await log.nth(3).getByRole("link", { name: "Build 41" }).waitFor();
  for (const [tab, count] of Object.entries({ "Not matched": 1, Duplicates: 1, Rejected: 1, "Failed to start": 0, Started: 1 })) {
    const link = page.getByRole("navigation", { name: "Result" }).getByRole("link", { name: tab, exact: true });
    const address = new URL(await link.getAttribute("href"), page.url());
    await link.click();
    await page.waitForURL(address.href);
    assert.equal(await link.getAttribute("aria-current"), "page");
    assert.equal(await log.count(), count, tab);
  }
  await page.goto(at);
  await page.getByLabel("Text in the log").fill("EXPLAIN");
  await page.getByLabel("Text in the log").press("Enter");
  await page.waitForURL("**?q=EXPLAIN");
  assert.equal(await log.count(), 1);
  await page.getByLabel("Text in the log").fill(first.id);
  await page.getByLabel("Text in the log").press("Enter");
  await page.waitForURL(`**?q=${first.id}`);
  assert.equal(await log.count(), 1);

  // Which run a delivery started is two clicks from the list of webhooks.
  await page.goto("/webhooks");
  await page.getByRole("row").filter({ hasText: hook.name }).getByRole("link", { name: hook.name, exact: true }).last().click();
  await page.goto(at);
  await log.getByRole("link", { name: "Build 41" }).click();
  await page.getByRole("heading", { level: 1, name: "Build 41" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-11 a delivery beyond the limit of its automation is marked, and not as a failure", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const { send, automate, at } = await hooked("Limits runs");
  await automate("once an hour", shell("true"), undefined, { max_runs_per_hour: 1 });
  for (const build of [1, 2]) await send({ build });
  await page.goto(at);
  const marks = await page.locator(".deliveries summary .tag").evaluateAll((tags) => tags.map((tag) => [tag.textContent, tag.classList[1]]));
  assert.deepEqual(marks, [["Limited", "warn"], ["Started", "good"]]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("X-10 what was spent is on the overview and beside the budget, which is set in the form", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const spend = async (name, cost_micros) => {
    const { uid } = await server.api("/factory", { body: { name } });
    const agent = await server.api("/agent/identities", { body: { name: "spender", factory_uid: uid, prompt: "Spend.", worker_host: "spends" } });
    const start = () => server.startRun({ prompt: "Spend", title: "Dear", agent_identity_uid: agent.uid });
    const worker = await Worker.claim(server, { host: "spends", start });
    await worker.tell(["usage", { model_id: "m-1", input_tokens: 1200, output_tokens: 34, cost_micros }]);
    await worker.end();
    return uid;
  };
  const uid = await spend("Costs something", 3_100_000);
  await spend("Costs less", 400_000);
  await page.goto(`/factories/${uid}/edit`);
  await page.getByLabel("US dollars per day").fill("25");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The factory is changed.").waitFor();
  assert.match(await page.locator(".facts").textContent(), /Spent today\s*\$3\.10 of \$25\.00/);
  assert.equal((await server.api(`/factory/${uid}`)).daily_budget.max_cost_usd, 25);
  await page.goto("/factories");
  const row = page.getByRole("row").filter({ hasText: "Costs something" });
  assert.match(await row.textContent(), /\$3\.10 of \$25\.00/);
  assert.deepEqual(await row.locator("meter").evaluate((one) => [one.value, one.max]), [3_100_000, 25_000_000]);
  await page.goto("/"); // what today costs takes no click
  assert.match(await page.locator(".numbers .card", { hasText: "Spent today" }).textContent(), /\$3\.50.*yesterday/);
  await page.getByRole("row", { name: /Costs something \$3\.10 of \$25\.00/ }).waitFor();
  const chart = page.getByRole("region", { name: "Spending by day", exact: true });
  assert.deepEqual(await chart.locator(".legend a").allTextContents(), ["Costs something", "Costs less"]);
  assert.deepEqual(await chart.locator(".plot rect.spent").evaluateAll((bars) => bars.map((bar) => bar.classList[1])), ["n1", "n2"]);
  await page.goto(`/runs?factory=${uid}`); // the list knows no order of costs; its head leads to one
  await page.getByRole("columnheader", { name: "Cost" }).getByRole("link").click();
  await page.waitForURL(`**/costs?factory=${uid}#dearest-title`);
  await page.getByRole("region", { name: "Most expensive runs" }).getByRole("row", { name: /Dear .*\$3\.10/ }).waitFor();
  assert.deepEqual(complaints, []);
  await page.goto(`/factories/${uid}/edit`);
  await page.getByLabel("US dollars per day").fill("nonsense");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("write an amount in US dollars").waitFor();
  await context.close();
});

test("I-2 the overview begins with numbers, tells of each alert in a line, and lets it be dismissed", async () => {
  for (let n = 0; n < 3; n++) await server.ended(await server.startRun({ title: "Fails the same way", prompt: shell("exit 3") }));
  for (let n = 0; n < 3; n++) {
    const { uid, send } = await hooked(`Refuses ${n}`);
    await send({}, "wrong");
    await server.api(`/factory/${uid}/webhooks`, { body: { name: "waits for its secret", auth_mode: "signature", signature_scheme: "stripe" } });
  }
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/");
  const alerts = page.locator(".attention li");
  const [numbers, attention] = await page.evaluate(() => [".numbers", ".attention"].map((one) => document.querySelector(one).getBoundingClientRect().top));
  assert.ok(numbers < attention, "the numbers stand below the alerts");
  assert.equal(await page.locator(".attention > ul > li").count(), 5);
  await page.locator("#attention-more").click();
  for (const height of await alerts.evaluateAll((list) => list.map((one) => one.getBoundingClientRect().height))) assert.ok(height < 50, `an alert is ${height} px high`);
  assert.match(await alerts.filter({ hasText: "Fails the same way" }).textContent(), /3 times/);
  const icons = await alerts.locator("> svg").evaluateAll((list) => list.map((one) => one.innerHTML));
  assert.ok(new Set(icons).size > 1, "a webhook and a run have the same icon");
  const before = await alerts.filter({ visible: true }).count();
  const gone = alerts.filter({ hasText: "Fails the same way" });
  await gone.getByRole("button", { name: /^Dismiss/ }).click();
  await gone.waitFor({ state: "hidden" });
  await page.reload();
  await page.getByText("1 dismissed").waitFor();
  await page.locator("#attention-more").click();
  assert.equal(await alerts.filter({ visible: true }).count(), before - 1);
  await server.ended(await server.startRun({ title: "Fails the same way", prompt: shell("exit 3") }));
  await page.reload();
  await page.locator("#attention-more").click();
  await alerts.filter({ hasText: "Fails the same way" }).waitFor();

  // Numbers and bars lead to the runs behind them.
  await page.locator("#throughput-title").waitFor();
  const bar = await page.locator(".chart").first().locator("svg a", { hasText: /[1-9]\d* failed/ }).last().getAttribute("href"); // the last of all may be of an hour that has just begun
  await page.goto(bar);
  await page.getByRole("link", { name: "Fails the same way" }).first().waitFor();
  await page.goto("/");
  await page.getByRole("link", { name: "Success rate" }).click();
  await page.waitForURL("**/runs?*state=FAILED*");
  await page.getByRole("link", { name: "Fails the same way" }).first().waitFor();
  assert.equal(await page.getByRole("link", { name: "An example", exact: true }).count(), 0);
  await page.goto("/");
  await page.getByRole("link", { name: "Ended", exact: true }).click();
  await page.waitForURL("**/runs?*state=SUCCEEDED*");
  for (const name of ["An example", "Fails the same way"]) await page.getByRole("link", { name, exact: true }).first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the overview with alerts and costs is for everybody's eyes", async () => {
  await sound(browser, server.url, { "overview with all": "/", "factories with costs": "/factories", "deliveries": (await server.api("/factory")).factories.map(({ uid }) => `/webhooks?factory=${uid}`)[0] }, {
    settled: async (page) => {
      for (const more of await page.locator("main summary").all()) await more.click();
    },
  });
});
