// Factories: made, changed, paused, rolled back, kept in a repository, deleted.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import test, { after, before } from "node:test";
import { launch, member, sound } from "./browser.mjs";
import { signedWebhook } from "./sender.mjs";
import { Server } from "./server.mjs";
import { Worker } from "./worker.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start({ flags: ["--allow-local-git"] }), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 F-4 a factory is made, changed, rolled back, paused and deleted", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/factories/new");
  await page.getByRole("button", { name: "Create factory" }).click();
  await page.getByRole("alert").getByText("needs a name").waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Web shop");
  await page.getByLabel(/^Description/).fill("First words.");
  await page.getByRole("button", { name: "Create factory" }).click();
  await page.getByText("The factory is created.").waitFor();
  const at = new URL(page.url()).pathname;
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.getByLabel(/^Description/).fill("Other words.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Other words.").waitFor();
  await page.getByRole("link", { name: "Revision 1" }).click();
  await page.getByText("First words.").waitFor();
  await page.getByRole("link", { name: "Roll back to this" }).click();
  await page.getByText("Other words.").waitFor();
  await page.getByRole("button", { name: "Roll back" }).click();
  await page.getByText("The factory is back at revision 1.").waitFor();
  await page.locator(".lede", { hasText: "First words." }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("This factory is paused.").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download folder" }).click()]);
  assert.match(execFileSync("tar", ["-tzf", await download.path()], { encoding: "utf8" }), /^agents\/foreman\/agent\.md\nfactory\.yaml$/m);
  await page.getByRole("link", { name: "Delete factory" }).click();
  await page.getByText("agent foreman").waitFor();
  await page.getByRole("button", { name: "Delete factory" }).click();
  await page.getByText("The factory is deleted.").waitFor();
  assert.deepEqual(complaints.filter((text) => !text.includes("400")), []);
  await context.close();
});

/** A Git repository in the server's data folder. */
function repository() {
  const work = path.join(server.dataDir, "origin");
  mkdirSync(work);
  const git = (...args) =>
    execFileSync("git", ["-C", work, ...args], {
      env: { PATH: process.env.PATH, HOME: work, GIT_CONFIG_NOSYSTEM: "1", GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@example.com", GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@example.com" },
    });
  git("init", "--quiet", "--initial-branch=main");
  return {
    url: `file://${work}`,
    commit(files) {
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
        writeFileSync(path.join(work, name), text);
      }
      git("add", "--all");
      git("commit", "--quiet", "-m", "change");
    },
  };
}

test("F-5 a factory follows a repository, tells its mistakes and refuses edits", async () => {
  const origin = repository();
  origin.commit({
    "factory.yaml": "schemaVersion: v1alpha1\nname: Kept in Git\n",
    "agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
    "automations/nightly/automation.md": '---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: "@daily"\n---\nLook.\n',
  });
  const factory = await server.api("/factory", { body: { name: "To be linked" } });
  const at = `/factories/${factory.uid}`;
  const { page, context } = await member(browser, server.url);
  await page.goto(at);
  await page.getByRole("link", { name: "Follow a Git repository" }).click();
  await page.getByLabel("Repository").fill(origin.url);
  await page.getByRole("button", { name: "Follow repository" }).click();
  await page.getByText("its definition is applied").waitFor();
  await page.getByRole("heading", { name: "Kept in Git" }).waitFor();
  for (const name of ["Edit", "New automation", "New agent", "New webhook"]) assert.equal(await page.getByRole("link", { name, exact: true }).count(), 0, name);
  await page.getByRole("link", { name: "nightly" }).click();
  await page.getByText("This automation is edited in the repository").waitFor();
  for (const name of ["Edit", "Disable", "Delete automation"]) assert.equal(await page.getByText(name, { exact: true }).count(), 0, name);
  const automation = new URL(page.url()).pathname;
  await page.goto("/factories");
  await page.getByRole("columnheader", { name: "Source" }).waitFor();
  const forged = await page.evaluate(async ([path]) => {
    const answer = await fetch(`${path}/enable`, { method: "POST", body: new URLSearchParams({ enabled: "false" }) });
    return [answer.status, await answer.text()];
  }, [automation]);
  assert.equal(forged[0], 409);
  assert.match(forged[1], /change it there and push/);

  origin.commit({ "automations/nightly/automation.md": "---\ntriggers: []\n---\nLook.\n" });
  await page.goto(at);
  await page.getByRole("button", { name: "Sync now" }).click();
  await page.getByText("automations/nightly/automation.md:2:").waitFor();
  await page.getByRole("link", { name: "nightly" }).waitFor(); // what was in force stays
  await sound(browser, server.url, { "with mistakes": at, "automation of a repository": automation });
  await page.getByRole("link", { name: "Stop following" }).click();
  await page.getByRole("button", { name: "Stop following" }).click();
  await page.getByRole("link", { name: "Edit", exact: true }).waitFor();
  await context.close();
});

test("I-2 the list says how many runs of a factory are live and failed lately, and leads to them", async () => {
  const factory = await server.api("/factory", { body: { name: "Counted" } });
  const hook = await signedWebhook(server, factory.uid, "issues");
  const triggers = [{ provider: "webhook", event: "received", filter: { webhooks: ["issues"] } }];
  await server.api(`/factory/${factory.uid}/automations`, { body: { name: "counts", title: "Counted {{payload.n}}", prompt: "Count.", config: { worker_host: "counts" }, triggers } });
  const workers = [];
  for (const n of ["0", "1", "2"]) workers.push(await Worker.claim(server, { host: "counts", start: () => hook.send("issues", { n }) }));
  await workers[0].end("FAILED", "it broke");
  const { page, context, complaints } = await member(browser, server.url);
  const row = page.getByRole("row", { name: /Counted/ });
  const lists = async (...numbers) => {
    await page.waitForURL(/\/runs\?factory=/);
    assert.deepEqual((await page.locator("main td.main a").allTextContents()).sort(), numbers.map((n) => `Counted ${n}`));
  };
  for (const [name, numbers] of [["2 live", [1, 2]], ["1 failed in 24 hours", [0]]]) {
    await page.goto("/factories?search=Counted");
    await row.getByRole("link", { name, exact: true }).click();
    await lists(...numbers);
  }
  await page.goto("/factories?search=Counted");
  assert.equal(await row.locator(".tag").textContent(), "active");
  assert.equal(await page.getByRole("columnheader", { name: "Source" }).count(), 0, "nothing follows a repository, and each row says so");
  await page.goto(`/factories/${factory.uid}`);
  await page.getByRole("link", { name: "All runs of this factory" }).click();
  await lists(0, 1, 2);
  await sound(browser, server.url, { "factories with runs": "/factories?search=Counted" });
  for (const worker of workers.slice(1)) await worker.end();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 what deletes something stands at the end of its page, never among its actions", async () => {
  const factory = await server.api("/factory", { body: { name: "Has everything" } }), at = `/factories/${factory.uid}`;
  const hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "inbox" } });
  const automation = await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "works", prompt: "Work.", triggers: [{ provider: "webhook", event: "received", filter: { webhook_ids: [hook.uid] } }] },
  });
  const agent = await server.api("/agent/identities", { body: { name: "worker", factory_uid: factory.uid, prompt: "Work." } });
  const schedule = await server.api("/agent/schedules", { body: { name: "daily", cron_schedule: "@daily", prompt: "Work." } });
  const environment = await server.api("/agent/environments", { body: { config: { name: "Somewhere" } } });
  await server.api("/secrets", { body: { name: "KEPT", value: "a value of a secret" } });
  const notification = await server.api("/notifications", { body: { url: "https://receiver.example/", name: "told" } });
  const pages = {
    factory: at, webhook: `${at}/webhooks/${hook.uid}`, automation: `${at}/automations/${automation.uid}`, agent: `/agents/${agent.uid}`,
    schedule: `/schedules/${schedule.id}`, environment: `/environments/${environment.uid}`, secret: "/secrets/KEPT", notification: `/notifications/${notification.id}`,
  };
  const { page, context, complaints } = await member(browser, server.url);
  for (const [noun, address] of Object.entries(pages)) {
    await page.goto(address);
    const link = page.getByRole("link", { name: `Delete ${noun}`, exact: true });
    await link.waitFor();
    assert.match(await page.title(), /^[^·]+ · [^·]+ · Lineshaft$/, `the tab of a ${noun} says what it is part of`);
    assert.equal(await page.locator(".head .danger").count(), 0, noun);
    const [top, lowest] = await link.evaluate((one) => [one.getBoundingClientRect().top, Math.max(...[...document.querySelectorAll("main .card, main .empty")].map((card) => card.getBoundingClientRect().bottom))]);
    assert.ok(top >= lowest, `${noun}: ${top} is above ${lowest}`);
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test("S-3 a viewer sees a factory and changes nothing of it", async () => {
  const factory = await server.api("/factory", { body: { name: "Only to look at" } });
  const at = `/factories/${factory.uid}`;
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await page.goto(at);
  await page.getByRole("heading", { name: "Only to look at" }).waitFor();
  for (const name of ["Edit", "Pause", "New automation", "New agent", "New webhook", "Delete factory"]) assert.equal(await page.getByText(name, { exact: true }).count(), 0, name);
  for (const action of ["", "/pause", "/delete", "/repository", "/repository/sync", "/revisions/1/rollback"]) {
    const status = await page.evaluate((url) => fetch(url, { method: "POST", body: new URLSearchParams({ name: "x", paused: "true" }) }).then((r) => r.status), at + action);
    assert.equal(status, 403, action);
  }
  assert.equal((await server.api(`/factory/${factory.uid}`)).paused, false);
  await context.close();
});
