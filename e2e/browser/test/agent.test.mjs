// Agents: made, changed, given work, deleted.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 an agent is made, changed, shown with its runs and deleted", async () => {
  const factory = await server.api("/factory", { body: { name: "Agents" } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/factories/${factory.uid}`);
  await page.getByRole("link", { name: "New agent" }).click();
  await page.getByLabel("Name", { exact: true }).fill("a/b");
  await page.getByLabel("Prompt", { exact: true }).fill("You review changes.\nYou never push.");
  await page.getByLabel("Type").selectOption("REVIEW");
  await page.getByRole("button", { name: "Create agent" }).click();
  await page.getByRole("alert").getByText("also a file name").waitFor();
  assert.equal(await page.getByLabel("Prompt", { exact: true }).inputValue(), "You review changes.\nYou never push.");
  await page.getByLabel("Name", { exact: true }).fill("reviewer");
  await page.getByLabel("Worker").fill("never-connected");
  await page.getByRole("button", { name: "Create agent" }).click();
  await page.getByText("The agent is created.").waitFor();
  await page.getByText("You never push.").waitFor();
  const uid = new URL(page.url()).pathname.split("/").at(-1);
  assert.equal(await page.getByRole("link", { name: "Start a run" }).getAttribute("href"), `/runs/new?agent=${uid}`);
  const runID = await server.startRun({ prompt: "review", title: "Reading it", agent_identity_uid: uid });
  await page.reload();
  await page.getByRole("link", { name: "Reading it" }).waitFor();
  await server.cancel(runID);
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Harness", { exact: true }).selectOption("codex");
  await page.getByLabel(/^Skills/).fill("acme/skills:review");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("acme/skills:review").waitFor();
  await page.getByRole("link", { name: "Delete agent" }).click();
  await page.getByRole("button", { name: "Delete agent" }).click();
  await page.getByText("The agent is deleted.").waitFor();
  assert.deepEqual(complaints.filter((text) => !text.includes("400")), []);
  await context.close();
});

test("I-2 an agent names its factory and its environment, and leads to both and to its secrets", async () => {
  const factory = await server.api("/factory", { body: { name: "Above it" } });
  await server.api("/secrets", { body: { name: "SHOP_TOKEN", value: "a value of a secret" } });
  const environment = await server.api("/agent/environments", { body: { config: { name: "Shop" } } });
  const { uid } = await server.api("/agent/identities", { body: { name: "clerk", factory_uid: factory.uid, prompt: "Sell.", environment_id: environment.uid, secrets: [{ name: "SHOP_TOKEN" }] } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/agents/${uid}`);
  for (const [name, address] of Object.entries({ Shop: `/environments/${environment.uid}`, SHOP_TOKEN: "/secrets/SHOP_TOKEN" })) {
    assert.equal(await page.locator(".facts").getByRole("link", { name, exact: true }).getAttribute("href"), address);
  }
  await page.getByRole("navigation", { name: "Breadcrumbs" }).getByRole("link", { name: "Above it" }).click();
  await page.waitForURL(`**/factories/${factory.uid}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("S-3 a viewer sees agents and changes none", async () => {
  const factory = await server.api("/factory", { body: { name: "Seen" } });
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await page.goto(`/agents?factory=${factory.uid}`);
  await page.getByRole("link", { name: "foreman" }).click();
  await page.getByRole("heading", { name: "foreman" }).waitFor();
  for (const name of ["Edit", "Start a run", "Delete agent"]) assert.equal(await page.getByRole("link", { name, exact: true }).count(), 0, name);
  const at = new URL(page.url()).pathname;
  for (const path of ["/agents", at, `${at}/delete`]) {
    assert.equal(await page.evaluate((url) => fetch(url, { method: "POST", body: new URLSearchParams({ name: "x" }) }).then((r) => r.status), path), 403, path);
  }
  await context.close();
});
