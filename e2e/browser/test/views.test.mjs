// I-2 saved views: lists with filters under a name, in this browser alone.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member, soundHere } from "./browser.mjs";
import { Server } from "./server.mjs";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await server.parkRun("Paint the shed", "painter");
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const views = (page) => page.getByRole("list", { name: "Saved views" }).getByRole("link");
const saving = (page) => page.getByRole("dialog", { name: "Save view" });
const editing = (page) => page.getByRole("dialog", { name: "Saved views" });
const evil = `<img src=x onerror="alert(1)">`;

/** Keeps the list that the page shows. */
async function save(page, name) {
  await page.getByRole("button", { name: "Save view" }).click();
  await saving(page).getByLabel("Name").fill(name);
  await page.keyboard.press("Enter");
  await page.locator("#views a[aria-current]", { hasText: name }).waitFor();
}

/** Opens what the palette finds first for a text. */
async function goTo(page, text) {
  await page.keyboard.press("Control+k");
  await page.keyboard.type(text);
  await page.waitForFunction((wanted) => document.querySelector("#palette .found a .name")?.textContent.includes(wanted), text);
  await page.keyboard.press("Enter");
}

test("I-2 a list with filters is kept under a name, and found in the list's bar and with Ctrl K", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  assert.equal(await page.getByRole("button", { name: "Save view" }).count(), 0, "a list without filters is no view");
  await page.locator("label.chip", { hasText: "Queued" }).click();
  await page.waitForURL("**/runs?state=QUEUED");
  await page.getByLabel("Order").selectOption({ label: "Oldest first" });
  await page.waitForURL("**/runs?sort=oldest&state=QUEUED");
  await save(page, evil);
  await page.locator("#views a:focus", { hasText: evil }).waitFor(); // the keyboard goes on at the view
  assert.equal(await page.getByRole("button", { name: "Save view" }).count(), 0, "it is kept already");
  await page.getByRole("link", { name: "Clear all filters" }).click();
  await page.waitForURL("**/runs?sort=oldest");
  await views(page).filter({ hasText: evil }).click();
  await page.waitForURL("**/runs?sort=oldest&state=QUEUED");
  await page.getByRole("link", { name: "Paint the shed" }).waitFor();

  await page.goto("/deliveries?only=refused&q=");
  assert.equal(await views(page).count(), 0, "views of runs are none of deliveries");
  await save(page, "Refused here");
  await page.goto("/settings");
  await goTo(page, "used here");
  await page.waitForURL("**/deliveries?only=refused");
  await goTo(page, "<img");
  await page.waitForURL("**/runs?sort=oldest&state=QUEUED");
  await page.locator("#views a[aria-current]").waitFor();
  await page.keyboard.press("Control+k");
  await page.locator("#palette .found", { hasText: "View · Deliveries" }).waitFor();
  await soundHere(page, "palette with views");
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 views are renamed and removed, one of the same name takes the place of the other, and nobody else has them", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?state=QUEUED");
  await save(page, "Mine");
  await page.goto("/runs?state=FAILED");
  await save(page, "Broken");
  await page.goto("/runs?state=QUEUED&state=PENDING");
  await save(page, "Mine");
  assert.deepEqual(await views(page).allTextContents(), ["Broken", "Mine"]);
  assert.equal(await views(page).nth(1).getAttribute("href"), "/runs?state=PENDING&state=QUEUED");
  await page.getByRole("button", { name: "Edit views" }).click();
  await editing(page).waitFor();
  assert.equal(await editing(page).getByText("which is the limit").isVisible(), false);
  await editing(page).getByLabel("Name of Mine").fill("  ");
  await editing(page).getByRole("button", { name: "Save" }).click();
  assert.ok(await editing(page).isVisible(), "a view has a name");
  await editing(page).getByLabel("Name of Mine").fill("Waiting");
  await editing(page).getByRole("button", { name: "Remove Broken" }).click();
  await soundHere(page, "saved views");
  await editing(page).getByRole("button", { name: "Save" }).click();
  await views(page).filter({ hasText: "Waiting" }).waitFor();
  assert.deepEqual(await views(page).allTextContents(), ["Waiting"]);
  await page.getByRole("button", { name: "Edit views" }).click();
  await editing(page).getByRole("button", { name: "Remove Waiting" }).click();
  await editing(page).getByRole("button", { name: "Cancel" }).click();
  assert.deepEqual(await views(page).allTextContents(), ["Waiting"], "what is cancelled changes nothing");
  assert.deepEqual(complaints, []);

  const { key } = await server.api("/apikeys", { body: { name: "somebody else", role: "admin", owner: { type: "user", display_name: "Somebody else" } } });
  const signed = await context.request.post("/login", { form: { key }, maxRedirects: 0 });
  assert.equal(signed.status(), 303);
  await page.goto("/runs?state=QUEUED");
  await page.getByRole("button", { name: "Save view" }).waitFor();
  assert.equal(await views(page).count(), 0);
  await context.close();
});

test("I-2 there are at most 20 views, and what else is stored in their place is left out", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?state=QUEUED");
  const store = (list) => page.evaluate((text) => localStorage.setItem(`lineshaft-views-${document.getElementById("palette").dataset.person}`, text), list);
  for (const odd of ["no JSON", "7", "null", '{"a":1}', '[null,7,{"name":"a"},{"name":7,"at":"/runs?q=a"},{"name":" ","at":"/runs?q=a"}]']) {
    await store(odd);
    await page.reload();
    await page.getByRole("button", { name: "Save view" }).waitFor();
    assert.equal(await views(page).count(), 0, odd);
  }
  const addresses = ["javascript:alert(1)", "https://elsewhere.example/runs?q=a", "//elsewhere.example/runs?q=a", "/settings?q=a", "/runs", "/runs?q=a"];
  await store(JSON.stringify(addresses.map((at) => ({ name: at, at }))));
  await page.reload();
  await views(page).first().waitFor();
  assert.deepEqual(await views(page).allTextContents(), ["/runs?q=a"]);

  await store(JSON.stringify(Array.from({ length: 25 }, (_, i) => ({ name: `View ${i + 1}`, at: `/runs?q=${i + 1}` }))));
  await page.reload();
  await views(page).first().waitFor();
  assert.equal(await views(page).count(), 20);
  await page.getByRole("button", { name: "Save view" }).click();
  await editing(page).getByText("which is the limit").waitFor();
  await editing(page).getByRole("button", { name: "Remove View 1", exact: true }).click();
  await editing(page).getByRole("button", { name: "Save" }).click();
  await views(page).filter({ hasText: /^View 1$/ }).waitFor({ state: "detached" });
  await save(page, "The last");
  assert.equal(await views(page).count(), 20);
  await soundHere(page, "many views");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 after the way back in the list of runs, views and the palette still work; without JavaScript there are none", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs?host=painter");
  await page.locator("label.chip", { hasText: "Queued" }).click();
  await page.waitForURL("**/runs?host=painter&state=QUEUED");
  await page.goBack();
  await page.waitForURL("**/runs?host=painter");
  await page.waitForFunction(() => !document.querySelector("#filters input:checked"));
  await save(page, "Painted");
  await page.getByRole("button", { name: "Shortcuts" }).click();
  await page.getByRole("dialog", { name: "Keyboard" }).getByRole("button", { name: "Close" }).click();
  await goTo(page, "Costs");
  await page.waitForURL("**/costs");
  assert.deepEqual(complaints, []);
  await context.close();

  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  await plain.page.goto("/runs?state=QUEUED");
  await plain.page.getByRole("heading", { name: "Runs" }).waitFor();
  assert.equal(await plain.page.locator("#views").isVisible(), false);
  await plain.context.close();
});
