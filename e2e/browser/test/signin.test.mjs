// S-4 signing in and out, and the list of runs.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member, visitor } from "./browser.mjs";
import { Server, adminKey, shell } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("S-4 a wrong key is told so and opens nothing", async () => {
  const { page, context } = await visitor(browser, server.url);
  await page.goto("/login");
  await page.getByLabel("API key").fill("ls_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  assert.match(await page.getByRole("alert").textContent(), /Invalid API key/);
  assert.deepEqual(await context.cookies(), []);
  await context.close();
});

test("I-2 the door says what is behind it, and stands where people look", async () => {
  const { page, context } = await visitor(browser, server.url, { viewport: { width: 1280, height: 900 } });
  await page.goto("/login");
  await page.getByText("control plane for your cloud agents").waitFor();
  const { y } = await page.locator(".door form").boundingBox();
  assert.ok(y > 250 && y < 450, `the form begins at ${y} of 900 px`);
  await context.close();
});

test("S-4 the right key goes on to where one came from", async () => {
  const runID = await server.parkRun("Came from here");
  const { page, context, complaints } = await visitor(browser, server.url);
  await page.goto(`/runs/${runID}`);
  assert.equal(new URL(page.url()).pathname, "/login");
  await page.getByLabel("API key").fill("ls_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  complaints.length = 0; // the browser notes the 401
  await page.getByLabel("API key").fill(adminKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`**/runs/${runID}`);
  assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Came from here");
  assert.deepEqual(complaints, []);
  await server.cancel(runID);
  await context.close();
});

test("S-4 a way back to another server is not followed", async () => {
  for (const next of ["//evil.example/x", "https://evil.example", "/\\evil.example"]) {
    const { page, context } = await visitor(browser, server.url);
    await page.goto(`/login?next=${encodeURIComponent(next)}`);
    await page.getByLabel("API key").fill(adminKey);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    assert.equal(new URL(page.url()).origin, server.url);
    await context.close();
  }
});

test("S-4 the session is a cookie that no script can read, and signing out ends it", async () => {
  const { page, context } = await visitor(browser, server.url);
  await page.goto("/login");
  await page.getByLabel("API key").fill(adminKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const [cookie] = await context.cookies();
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Lax");
  assert.ok(!cookie.value.includes(adminKey), "the cookie holds the key itself");
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL("**/login");
  await context.addCookies([cookie]);
  await page.goto("/");
  assert.equal(new URL(page.url()).pathname, "/login");
  await context.close();
});

test("I-2 the list shows the newest runs and leads to each", async () => {
  const runID = await server.startRun({ prompt: shell("echo listed"), title: "Listed run" });
  await server.ended(runID);
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/runs");
  const row = page.getByRole("row", { name: /Listed run/ });
  assert.match(await row.textContent(), /Succeeded/);
  await row.getByRole("link", { name: "Listed run" }).click();
  await page.waitForURL(`**/runs/${runID}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("an unknown run is a page that says so", async () => {
  const { page, context } = await member(browser, server.url);
  const response = await page.goto("/runs/00000000-0000-7000-8000-000000000000");
  assert.equal(response.status(), 404);
  await page.getByRole("heading", { name: "There is nothing here" }).waitFor(); // and not the phrase of the protocol
  assert.match(await page.getByRole("alert").textContent(), /^\s*No run/);
  await page.getByRole("link", { name: "Back to the overview" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await context.close();
});

// The last one: the address of all these tests has to wait after it.
test("S-4 who tries many wrong keys has to wait, and is told how long", async () => {
  const { page, context } = await visitor(browser, server.url);
  await page.goto("/login");
  // Gives back the answer when its page is there: until then the form is the one before.
  const attempt = async (key) => {
    await page.getByLabel("API key").fill(key);
    const answer = page.waitForResponse((response) => response.request().method() === "POST");
    const shown = page.waitForEvent("load");
    await page.getByRole("button", { name: "Sign in" }).click();
    await shown;
    return answer;
  };
  for (let tries = 0; tries < 11; tries++) {
    const response = await attempt("ls_wrong");
    if (response.status() !== 429) continue;
    assert.ok(Number(response.headers()["retry-after"]) > 0);
    break;
  }
  assert.match(await page.getByRole("alert").textContent(), /Too many wrong keys came from your address\. Wait \d+ seconds?, then try again\./);
  assert.equal((await attempt(adminKey)).status(), 429);
  await page.getByRole("alert").waitFor();
  assert.equal(new URL(page.url()).pathname, "/login");
  assert.deepEqual(await context.cookies(), []);
  await context.close();
});
