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

test("I-2 an agent is given tool servers by rows, with secrets by name and other values hidden", async () => {
  const factory = await server.api("/factory", { body: { name: "Tooled" } });
  await server.api("/secrets", { body: { name: "TRACKER_TOKEN", value: "a value of a secret" } });
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/agents/new?factory=${factory.uid}`);
  await page.getByLabel("Name", { exact: true }).fill("clerk");
  await page.getByRole("button", { name: "Add tool server" }).click();
  const first = page.getByRole("group", { name: "Tool server 1" });
  assert.ok(await first.getByLabel("Name").evaluate((one) => one === document.activeElement), "the new row has the focus");
  await first.getByLabel("Name").fill("tracker");
  await first.getByLabel("URL").fill("tracker.example");
  await first.getByLabel(/^Headers/).fill("Authorization: Bearer {{TRACKER_TOKEN}}\nX-Team: {{TRACKER_TOKEN}}");
  await page.getByRole("button", { name: "Add tool server" }).click();
  const second = page.getByRole("group", { name: "Tool server 2" });
  await second.getByLabel("Name").fill("gone");
  await second.getByRole("button", { name: "Remove this tool server" }).click();
  await second.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Create agent" }).click();
  await page.getByRole("alert").getByText("must be an http or https URL").waitFor();
  assert.equal(await page.getByLabel("Name", { exact: true }).first().inputValue(), "clerk");
  await first.getByLabel("URL").fill("https://tracker.example/mcp");
  await first.getByLabel("URL").press("Enter"); // saves, and removes no row
  await page.getByText("The agent is created.").waitFor();
  await page.locator(".facts").getByText("tracker", { exact: true }).waitFor();
  const uid = new URL(page.url()).pathname.split("/").at(-1);
  await page.getByRole("link", { name: "Edit" }).click();
  assert.equal(await first.getByLabel(/^Headers/).inputValue(), "Authorization: ***\nX-Team: {{TRACKER_TOKEN}}");
  await first.getByLabel("Name").fill("issues");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".facts").getByText("issues", { exact: true }).waitFor();
  const { mcp_servers: servers } = await server.api(`/agent/identities/${uid}`);
  assert.deepEqual(servers, { issues: { url: "https://tracker.example/mcp", headers: { Authorization: "***", "X-Team": "{{TRACKER_TOKEN}}" } } });
  assert.deepEqual(complaints.filter((text) => !text.includes("400")), []);
  await context.close();
});

test("I-2 without scripts an agent is given a tool server and loses it", async () => {
  const { uid } = await server.api("/agent/identities", { body: { name: "plain", prompt: "Look." } });
  const { page, context } = await member(browser, server.url, { javaScriptEnabled: false });
  await page.goto(`/agents/${uid}/edit`);
  await page.getByRole("button", { name: "Add tool server" }).click();
  const row = page.getByRole("group", { name: "Tool server 1" });
  await row.getByLabel("Name").fill("local");
  await row.getByText("Or a program on the worker").click();
  await row.getByLabel(/^Command/).fill("tools\n--stdio");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The agent is changed.").waitFor();
  assert.deepEqual((await server.api(`/agent/identities/${uid}`)).mcp_servers, { local: { command: "tools", args: ["--stdio"] } });
  await page.getByRole("link", { name: "Edit" }).click();
  await row.getByRole("button", { name: "Remove this tool server" }).click();
  await row.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("The agent is changed.").waitFor();
  assert.equal((await server.api(`/agent/identities/${uid}`)).mcp_servers, undefined);
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
