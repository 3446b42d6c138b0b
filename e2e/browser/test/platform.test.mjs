// I-2 secrets, environments, schedules, workers, keys and the audit log, as people use them.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, looks, member, sound, soundHere } from "./browser.mjs";
import { Server } from "./server.mjs";
import { Worker } from "./worker.mjs";

let server, browser, admin;
// The tests of one database share it: names are this file's own.
const mark = `P${Date.now().toString(36).toUpperCase()}`;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  admin = await member(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const button = (page, name) => page.locator("main").getByRole("button", { name, exact: true });
const link = (page, name) => page.locator("main").getByRole("link", { name, exact: true });
const notice = (page, text) => page.getByRole("status").getByText(text).waitFor();

// A browser notes forms that come back with a mistake; nothing else may be wrong.
const content = (complaints) => assert.deepEqual(complaints.filter((text) => !/responded with a status of (400|409)/.test(text)), []);

test("S-2 a secret is stored, replaced, described and deleted, and its value is in no page", async () => {
  const { page, complaints } = admin;
  const seen = [];
  const watch = (response) => {
    if (/html|json/.test(response.headers()["content-type"] ?? "")) seen.push(response.text().catch(() => "")); // of a way on there is none
  };
  page.on("response", watch);
  const name = `${mark}_TOKEN`;
  await page.goto("/secrets");
  await page.getByRole("link", { name: "New secret" }).first().click();
  await page.getByLabel("Name", { exact: true }).fill(name);
  const value = page.getByLabel("Value", { exact: true });
  await value.fill("hunter2-of-the-page");
  assert.equal(await value.getAttribute("type"), "password");
  await button(page, "Show").click();
  assert.equal(await value.getAttribute("type"), "text");
  await button(page, "Hide").click();
  assert.equal(await value.getAttribute("type"), "password");
  assert.equal(await value.getAttribute("autocomplete"), "off");
  await page.getByLabel("Description", { exact: true }).fill("Reads <b>issues</b>");
  await button(page, "Create secret").click();
  await notice(page, "cannot be read again");
  assert.equal(await value.inputValue(), "");

  await page.getByText("The value has several lines").click();
  await page.getByLabel("Value with several lines").fill("-----BEGIN-of-the-page\nsecond-of-the-page");
  await button(page, "Replace value").click();
  await notice(page, "The value is replaced");
  await page.getByLabel("Any run that names it").check();
  await button(page, "Save").click();
  await notice(page, "The secret is changed");
  assert.equal(await page.getByLabel("Any run that names it").isChecked(), true);

  // What went wrong asks for the value again.
  await page.goto("/secrets/new");
  await page.getByLabel("Name", { exact: true }).fill(name);
  await value.fill("taken-name-of-the-page");
  await button(page, "Create secret").click();
  await page.getByRole("alert").getByText(name).waitFor();
  assert.equal(await value.inputValue(), "");

  const environment = await server.api("/agent/environments", { body: { config: { name: `${mark} shop`, secrets: [{ name }] } } });
  await page.goto(`/secrets/${name}`);
  await link(page, `environment ${mark} shop`).click();
  await page.waitForURL(`**/environments/${environment.uid}`);
  await page.goto(`/secrets/${name}`);
  await link(page, "Delete secret").click();
  await link(page, `environment ${mark} shop`).waitFor();
  assert.equal(await button(page, "Delete secret").count(), 0);
  await server.api(`/agent/environments/${environment.uid}`, { method: "DELETE" });
  await page.reload();
  await button(page, "Delete secret").click();
  await notice(page, `${name} is deleted`);
  await page.goto(`/audit?by=target&value=${name}`);
  await page.getByText("secret.delete").first().waitFor();

  // What webhooks keep is apart from what runs use.
  const factory = await server.api("/factory", { body: { name: `${mark} hooked` } });
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: `${mark}-inbox` } });
  await page.goto("/secrets");
  assert.equal(await link(page, hook.secret_name).count(), 0);
  await link(page, "Webhook credentials").click();
  await link(page, hook.secret_name).waitFor();
  page.off("response", watch);
  assert.ok(seen.length > 8, `only ${seen.length} pages were looked at`);
  for (const text of await Promise.all(seen)) assert.doesNotMatch(text, /of-the-page/);
  content(complaints);
});

test("I-2 an environment grows and shrinks by rows, is changed and deleted", async () => {
  const { page } = admin;
  await page.goto("/environments/new");
  await page.evaluate(() => (window.sameDocument = true));
  await page.getByLabel("Name", { exact: true }).fill(`${mark} environment`);
  await page.getByLabel("Repository 1", { exact: true }).fill("acme/shop");
  await button(page, "Add repository").click();
  await page.getByLabel("Repository 2", { exact: true }).waitFor();
  await page.locator("#repository-2:focus").waitFor();
  await page.keyboard.type("acme/tools");
  await button(page, "Add command").click();
  await page.locator("#command-1:focus").waitFor(); // the one before it was empty, and makes way
  await page.getByLabel("Command 1", { exact: true }).fill("make one");
  assert.equal(await page.getByLabel("Repository 2", { exact: true }).inputValue(), "acme/tools");
  await button(page, "Remove repository 1").click();
  await page.getByLabel("Repository 2", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Repository 1", { exact: true }).inputValue(), "acme/tools");
  assert.equal(await page.evaluate(() => window.sameDocument), true, "rows came with a new page");
  // Enter saves, and does not press the button that removes a row.
  await page.getByLabel("Name", { exact: true }).press("Enter");
  await notice(page, "The environment is created");
  await page.getByText("acme/tools").waitFor();
  await page.getByText("make one").waitFor();
  const address = new URL(page.url()).pathname;

  const runID = await server.startRun({ title: "Uses it", prompt: "wait", config: { worker_host: "never-connected", environment_id: address.split("/")[2] } });
  await page.reload();
  await link(page, "Uses it").waitFor();
  await link(page, "Edit").click();
  await page.getByLabel("Repository 1", { exact: true }).fill("not a repository");
  await button(page, "Save").click();
  await page.getByRole("alert").getByText("Repository 1").waitFor();
  await page.getByLabel("Repository 1", { exact: true }).fill("acme/other");
  await button(page, "Save").click();
  await notice(page, "The environment is changed");
  await link(page, "Delete environment").click();
  await page.waitForURL("**/delete");
  await link(page, "Uses it").waitFor();
  await server.cancel(runID);
  await page.reload();
  await button(page, "Delete environment").click();
  await notice(page, "The environment is deleted");
});

test("I-2 a row that comes is ready at once: it has the focus, its value and its buttons", async () => {
  const { page, complaints } = admin;
  await page.goto("/environments/new");
  await page.getByLabel("Repository 1", { exact: true }).fill("acme/shop");
  // Seen by the first script that runs after the row was put in.
  const seen = page.evaluate(() => new Promise((resolve) => {
    new MutationObserver(() => {
      if (document.getElementById("repository-2")) resolve([document.activeElement.id, document.getElementById("repository-1").value]);
    }).observe(document.querySelector("main"), { childList: true, subtree: true });
  }));
  await button(page, "Add repository").click();
  assert.deepEqual(await seen, ["repository-2", "acme/shop"]);
  // A press at once is taken by the page, and not by the browser, which would load another.
  await page.keyboard.type("acme/tools");
  await page.evaluate(() => {
    window.sameDocument = true;
    const add = () => [...document.querySelectorAll("main button")].find((one) => one.textContent.includes("Add repository")).click();
    new MutationObserver((_, watch) => {
      if (!document.getElementById("repository-3")) return;
      watch.disconnect();
      document.getElementById("repository-3").value = "acme/site";
      add();
    }).observe(document.querySelector("main"), { childList: true, subtree: true });
    add();
  });
  await page.getByLabel("Repository 4", { exact: true }).waitFor();
  assert.equal(await page.evaluate(() => window.sameDocument), true, "the row came with a new page");
  content(complaints);
});

test("X-14 an environment shows what is prepared of it, what that saved, and why a start was cold", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const { uid } = await server.api("/agent/environments", { body: { config: { name: `${mark} prepared` } } });
  const prepared = page.locator("section", { has: page.getByRole("heading", { name: "Prepared", exact: true }) }).last();
  await page.goto(`/environments/${uid}`);
  assert.equal(await prepared.count(), 0, "nothing has run in it");
  const layer = { worker: "build-1", layer: "4f0c9a1b7d2e" };
  const started = async (...steps) => {
    const worker = await Worker.claim(server, { config: { environment_id: uid } });
    await worker.tell(...steps.map((step) => ["notice", { level: "info", text: "About its environment", environment: step }]));
    await worker.end();
    return worker.runID;
  };
  const cold = await started({ step: "cold", reason: "the disk <i>is</i> new", worker: "build-1" }, { step: "kept", ...layer, files: 31240, bytes: 700 * 2 ** 20 });
  await started({ step: "warm", ...layer, saved_seconds: 60 });
  await started({ step: "newer", ...layer, saved_seconds: 30 });
  await page.reload();
  await prepared.getByText("1 warm start, 1 on an older commit, 1 cold.").waitFor();
  assert.match(await prepared.textContent(), /Cold starts would have taken 1 min 30 s longer/);
  const cells = await prepared.getByRole("row").filter({ hasText: "build-1" }).getByRole("cell").allTextContents();
  assert.deepEqual(cells.slice(0, 2), ["build-1", layer.layer]);
  assert.match(cells[2], /^700(\.0)? MiB, 31.?240 files$/);
  assert.match(cells[3], /^2/);
  assert.equal(cells[4], "1 min 30 s");
  assert.match(await prepared.getByRole("listitem").textContent(), /on build-1: the disk <i>is<\/i> new/);
  await soundHere(page, "environment with layers");
  await prepared.getByRole("listitem").getByRole("link").click();
  await page.waitForURL(`**/runs/${cold}`);
  content(complaints);
  await context.close();
});

test("I-2 rows of an environment come and go without JavaScript", async () => {
  const { page, context } = await member(browser, server.url, { javaScriptEnabled: false });
  await page.goto("/environments/new");
  await page.getByLabel("Name", { exact: true }).fill(`${mark} plain`);
  await page.getByLabel("Repository 1", { exact: true }).fill("acme/shop");
  await button(page, "Add repository").click();
  await page.getByLabel("Repository 2", { exact: true }).fill("acme/tools");
  await button(page, "Remove repository 1").click();
  await button(page, "Create environment").click();
  await notice(page, "The environment is created");
  assert.equal(await page.getByText("acme/shop").count(), 0);
  await context.close();
});

test("I-2 a schedule is made with the keyboard alone, and its times show as one types", async () => {
  const { page, complaints } = admin;
  const tabTo = async (label) => {
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press("Tab");
      const here = await page.evaluate(() => {
        const e = document.activeElement;
        return e.labels?.[0]?.textContent.trim() || e.textContent.trim();
      });
      if (here === label) return;
    }
    assert.fail(`no Tab stop is ${label}`);
  };
  await page.goto("/schedules");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter"); // past the menu
  await tabTo("New schedule");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/schedules/new");
  assert.equal(await page.locator("#cron").evaluate((field) => field.list.options.length), 5, "times are offered");
  await page.getByText("While it is off, it starts no runs.").waitFor();
  await tabTo("Name");
  await page.keyboard.type(`${mark} watch`);
  await tabTo("Cron");
  await page.keyboard.type("0 9 * *");
  await page.locator("#fires .wrong").waitFor();
  await page.keyboard.type(" 1-5");
  await page.locator("#fires").getByText("Monday to Friday at 09:00").waitFor();
  await tabTo("Time zone");
  await page.keyboard.type("Tokyo");
  await page.locator("#fires").getByText("did you mean Asia/Tokyo?").waitFor();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type("Asia/Tokyo");
  await page.locator("#fires").getByText("09:00 JST").first().waitFor();
  assert.equal(await page.locator("#fires li").count(), 3);
  await page.keyboard.press("Escape"); // the list of zones may be open
  await page.getByLabel("Time zone").focus();
  await tabTo("Prompt");
  await page.keyboard.type("Look at the build");
  await tabTo("Create schedule");
  await page.keyboard.press("Enter");
  await notice(page, "The schedule is created");
  await page.getByText("09:00 JST").first().waitFor();
  await page.getByText("00:00 UTC").first().waitFor();
  content(complaints);
});

test("I-2 a schedule is paused, resumed, edited and deleted", async () => {
  const { page } = admin;
  const made = await server.api("/agent/schedules", { body: { name: `${mark} tidy`, cron_schedule: "@every 6h", prompt: "Tidy" } });
  await page.goto("/schedules");
  await button(page, `Pause ${mark} tidy`).click();
  await notice(page, "The schedule is paused");
  await button(page, `Resume ${mark} tidy`).click();
  await notice(page, "The schedule is on");
  await link(page, `${mark} tidy`).click();
  await button(page, "Run now").click();
  await page.waitForURL("**/runs/*");
  await page.getByRole("heading", { level: 1, name: `${mark} tidy` }).waitFor();
  await page.goto(`/schedules/${made.id}`);
  await link(page, "Edit").click();
  await page.waitForURL("**/edit"); // with its script, which listens to what is typed
  await page.getByLabel("Cron").fill("30 2 * * *");
  await page.locator("#fires").getByText("Every day at 02:30").waitFor();
  await page.getByLabel("If the previous run is still going").selectOption("skip");
  await button(page, "Save").click();
  await notice(page, "The schedule is changed");
  const changed = await server.api(`/agent/schedules/${made.id}`);
  assert.deepEqual([changed.cron_schedule, changed.overlap, changed.enabled], ["30 2 * * *", "skip", true]);
  await link(page, "Delete schedule").click();
  await button(page, "Delete schedule").click();
  await notice(page, "The schedule is deleted");
});

test("I-2 schedules of automations are listed", async () => {
  const { page } = admin;
  const factory = await server.api("/factory", { body: { name: `${mark} factory` } });
  await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "nightly", prompt: "Do it", triggers: [{ provider: "schedule", event: "cron_fired", schedule: { cron: "30 2 * * *", timezone: "America/New_York" } }] },
  });
  await page.goto("/schedules");
  await page.getByRole("heading", { name: "Automation schedules" }).waitFor();
  const row = page.getByRole("row", { name: `${mark} factory` });
  await row.getByText("Every day at 02:30, America/New_York").waitFor();
  assert.match(await row.getByRole("link", { name: "nightly" }).getAttribute("href"), new RegExp(`^/factories/${factory.uid}/automations/`));
});

test("X-2 the page of workers tells live who is waited for and who came", async () => {
  const { page, complaints } = admin;
  const host = `mac-${mark.toLowerCase()}`;
  const runID = await server.startRun({ title: "For the mac", prompt: "wait", config: { worker_host: host } });
  await page.goto("/workers");
  await page.evaluate(() => (window.sameDocument = true));
  const waiting = page.locator(".waiting", { hasText: host });
  await waiting.getByText(`lineshaft worker --id ${host} --server ${server.url}`).waitFor();
  await page.getByRole("row", { name: /hosted/ }).getByText("of").waitFor();
  await server.cancel(runID);
  await waiting.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  content(complaints);
});

test("X-1 a worker has a page with its version, its slots and what it works on", async () => {
  const { page, complaints } = admin;
  const worker = await Worker.claim(server, { title: `${mark} at work`, host: `mini-${mark.toLowerCase()}` });
  await page.goto("/workers");
  await link(page, `mini-${mark.toLowerCase()}`).click();
  await page.getByText(/^[01] of 1 in use$/).waitFor(); // as it told with its last claim
  await page.getByText("test", { exact: true }).waitFor();
  await soundHere(page, "worker");
  await link(page, `${mark} at work`).click();
  await page.waitForURL(`**/runs/${worker.runID}`);
  await worker.end();
  content(complaints);
});

test("S-2 a key is shown once, works, and is revoked", async () => {
  const { page } = admin;
  await page.goto("/keys");
  await link(page, "New key").click();
  await page.getByLabel("Name", { exact: true }).fill(`${mark} ci`);
  assert.equal(await page.getByLabel("Worker ids", { exact: true }).isVisible(), false);
  await page.getByLabel("worker Executes runs").check();
  assert.equal(await page.getByLabel("Worker ids", { exact: true }).isVisible(), true);
  await page.getByLabel("viewer Reads").check();
  await page.getByLabel("Expires", { exact: true }).selectOption("30");
  await button(page, "Create key").click();
  const key = await page.getByLabel("key", { exact: true }).textContent();
  assert.match(key, /^ls_/);
  assert.equal(await page.getByLabel("line for a terminal").textContent(), `export LINESHAFT_API_KEY=${key}`);
  const who = await fetch(`${server.url}/api/v1/whoami`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(who.status, 200);
  await link(page, "I have copied it").click();
  const row = page.getByRole("row", { name: `${mark} ci` });
  await row.getByText("in 30 days").waitFor();
  for (const path of ["/keys", "/keys?show=ended", "/audit"]) {
    await page.goto(path);
    assert.ok(!(await page.content()).includes(key), `${path} has the key`);
  }
  await page.goto("/keys");
  await row.getByRole("link", { name: "Revoke" }).click();
  await button(page, "Revoke key").click();
  await notice(page, "is revoked");
  const refused = await fetch(`${server.url}/api/v1/whoami`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(refused.status, 401);
  await page.getByRole("link", { name: /^Ended/ }).click();
  await row.getByText("revoked").waitFor();
});

test("S-2 one's own key is revoked at the end of the page, and not in its row", async () => {
  await server.api("/apikeys", { body: { name: `${mark} another`, role: "viewer" } });
  const { page, context, complaints } = await member(browser, server.url, { key: await server.keyFor("admin") });
  await page.goto("/keys");
  const revoke = (name) => page.getByRole("row", { name }).getByRole("link", { name: /^Revoke/ }).count();
  assert.deepEqual([await revoke(/yours/), await revoke(`${mark} another`)], [0, 1]);
  assert.equal(await page.locator("main table .danger").count(), 0);
  const [table, own] = await Promise.all([page.locator("main table"), link(page, "Revoke your own key")].map((one) => one.boundingBox()));
  assert.ok(own.y >= table.y + table.height, "one's own key is revoked among the others");
  content(complaints);
  await context.close();
});

test("S-5 the audit log names a revoked key, a browser and a delivery, and leads to them", async () => {
  const { page } = admin;
  const name = `audited ${mark}`;
  const key = await server.api("/apikeys", { body: { name, role: "viewer" } });
  await server.api(`/apikeys/${key.id}`, { method: "DELETE" });
  const factory = await server.api("/factory", { body: { name: `Audited ${mark}` } });
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "inbox", auth_mode: "url_token" } });
  const sent = await (await fetch(hook.ingress_url, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" })).json();
  const log = `/factory/${factory.uid}/webhooks/${hook.uid}/deliveries`;
  const again = await server.api(`${log}/${sent.delivery_id}/redeliver`, { body: {} });
  const target = page.locator("table.audit tbody td.target").first().getByRole("link");
  await page.goto("/audit?by=action&value=apikey.revoke");
  assert.equal(await target.textContent(), name);
  await target.click();
  await page.waitForURL(`**/keys?show=ended#key-${key.id}`);
  await page.locator(`#key-${key.id}`, { hasText: name }).waitFor();
  await page.goto("/audit?by=action&value=session.create");
  assert.match(await target.textContent(), /Chrom/);
  await target.click();
  await page.waitForURL("**/sessions?of=everybody#session-*");
  await page.goto("/audit?by=action&value=delivery.redeliver");
  await target.click();
  await page.waitForURL(`**/factories/${factory.uid}/webhooks/${hook.uid}/deliveries/${again.delivery_id}`);
});

test("I-2 uses of a secret say when there are more, and where", async () => {
  const { page } = admin;
  const name = `${mark}_SHARED`;
  await server.api("/secrets", { body: { name, value: "shared-by-many" } });
  for (let i = 0; i < 6; i++) await server.api("/agent/identities", { body: { name: `many-${i}`, prompt: "Work.", secrets: [{ name }] } });
  for (const path of [`/secrets/${name}`, `/secrets/${name}/delete`]) {
    await page.goto(path);
    assert.equal(await page.locator(".uses li").count(), 6);
    await page.locator(".uses li", { hasText: "There are more" }).getByRole("link", { name: "webhooks" }).waitFor();
    await soundHere(page, path);
  }
});

test("S-5 the audit log is filtered, opened and exported", async () => {
  const { page } = admin;
  const name = `${mark}_AUDITED`;
  await server.api("/secrets", { body: { name, value: "not-in-the-log" } });
  await page.goto("/audit");
  await page.getByLabel("Filter by").selectOption("target");
  await page.getByLabel("Value", { exact: true }).fill(name);
  await button(page, "Filter").click();
  await page.waitForURL("**/audit?by=target**");
  assert.equal(await page.locator("table.audit tbody tr").count(), 1);
  assert.equal(await page.locator("table.audit tbody").getByRole("cell").nth(2).getByRole("link", { name }).getAttribute("href"), `/secrets/${name}`);
  await page.locator("summary", { hasText: "secret.create" }).click();
  await link(page, "all of this kind").click();
  await page.waitForURL(/by=action&.*value=secret\.create|value=secret\.create/);
  assert.equal(await page.locator("#actions option", { hasText: /^Administrator$/ }).getAttribute("value"), "user_admin");
  const [download] = await Promise.all([page.waitForEvent("download"), link(page, "Export as NDJSON").click()]);
  const stream = await download.createReadStream();
  let text = "";
  for await (const piece of stream) text += piece;
  const entries = text.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(download.suggestedFilename(), "lineshaft-audit.ndjson");
  assert.ok(entries.every((entry) => entry.action === "secret.create"));
  assert.ok(entries.some((entry) => entry.target_id === name));
  assert.ok(!text.includes("not-in-the-log"));
});

test("S-3 each role sees what it may press, and forging the rest is 403", async () => {
  const environment = await server.api("/agent/environments", { body: { config: { name: `${mark} roles` } } });
  const schedule = await server.api("/agent/schedules", { body: { name: `${mark} roles`, cron_schedule: "@daily", prompt: "x" } });
  const name = `${mark}_ROLES`;
  await server.api("/secrets", { body: { name, value: "x" } });
  const spare = await server.api("/apikeys", { body: { name: `${mark} spare`, role: "viewer" } });
  const build = ["/environments", `/environments/${environment.uid}`, `/environments/${environment.uid}/delete`, "/schedules", `/schedules/${schedule.id}`, `/schedules/${schedule.id}/pause`, `/schedules/${schedule.id}/resume`, `/schedules/${schedule.id}/delete`];
  const rule = ["/secrets", `/secrets/${name}`, `/secrets/${name}/value`, `/secrets/${name}/delete`, "/keys", `/keys/${spare.id}/revoke`];
  for (const [role, forbidden] of [["viewer", [...build, ...rule]], ["member", [...build, ...rule]], ["manager", rule]]) {
    const { page, context } = await member(browser, server.url, { key: await server.keyFor(role) });
    for (const path of ["/environments", `/environments/${environment.uid}`, "/schedules", `/schedules/${schedule.id}`, "/workers"]) {
      assert.equal((await page.goto(path)).status(), 200);
      const buttons = await page.locator("main").getByRole("link", { name: /^(New|Edit|Delete|Key for)/ }).count();
      const forms = await page.locator("main form").count();
      if (role !== "manager") assert.deepEqual([buttons, forms], [0, 0], `${role} at ${path}`);
      else if (path !== "/workers") assert.ok(buttons + forms > 0, `${role} at ${path}`);
    }
    const menu = await page.locator("nav.menu a").allTextContents();
    for (const entry of ["Secrets", "Keys", "Audit"]) assert.ok(!menu.includes(entry), `${role} has ${entry}`);
    for (const path of ["/secrets", "/keys", "/audit", "/audit/export", "/secrets/new", "/keys/new"]) {
      assert.equal((await context.request.get(path)).status(), 403, `${role} at ${path}`);
    }
    for (const path of forbidden) {
      assert.equal((await context.request.post(path, { form: { name: "FORGED", value: "x", role: "admin" }, maxRedirects: 0 })).status(), 403, `${role} forges ${path}`);
    }
    await context.close();
  }
});

looks("I-2 the pages are sound in both themes, wide and on a phone", async () => {
  const name = `${mark}_A_VERY_LONG_NAME_OF_A_SECRET_THAT_GOES_ON_AND_ON_AND_ON`;
  await server.api("/secrets", { body: { name, value: "x", description: "word".repeat(200) } });
  const environment = await server.api("/agent/environments", {
    body: { config: { name: "long".repeat(40), description: "what it is for", github_repos: [{ owner: "acme", repo: "shop" }, { owner: "acme", repo: "tools" }], setup_commands: ["cd shop && npm ci", "x".repeat(300)], secrets: [{ name }] } },
  });
  const schedule = await server.api("/agent/schedules", { body: { name: `${mark} ${"long".repeat(30)}`, cron_schedule: "0 9 * * 1-5", timezone: "America/Argentina/ComodRivadavia", prompt: "line\n".repeat(40) } });
  await server.api("/apikeys", { body: { name: `${mark} ${"key".repeat(40)}`, role: "worker", worker_ids: ["w".repeat(100)] } });
  await server.startRun({ title: "waits", prompt: "x", config: { worker_host: `w-${mark.toLowerCase()}`, environment_id: environment.uid } });
  await sound(browser, server.url, {
    "secret, long": `/secrets/${name}`, "environment, long": `/environments/${environment.uid}`, "edit environment, long": `/environments/${environment.uid}/edit`,
    "schedules, long": "/schedules", "schedule, long": `/schedules/${schedule.id}`, "keys, long": "/keys", "workers, long": "/workers",
    "audit, wrong": "/audit?since=x",
  });
});
