// C-1, I-2: notifications from the form to a callback that was verified, replayed and ended.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, looks, member, sound, soundHere } from "./browser.mjs";
import { Receiver, allowPrivate, authentic, until } from "./receiver.mjs";
import { Server, shell } from "./server.mjs";

let server, browser, receiver, someone;
before(async () => {
  [server, browser, receiver] = await Promise.all([Server.start({ flags: allowPrivate }), launch(), Receiver.start()]);
  someone = await member(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await receiver?.stop();
});

const copied = (page, label) => page.locator(`pre[aria-label="${label}"]`).textContent();
const make = (body) => server.api("/notifications", { body: { url: receiver.url, ...body } });
const stored = (id) => server.api(`/notifications/${id}`);
const idOf = (page) => new URL(page.url()).pathname.split("/")[2];

test("C-1 the keyboard alone: create, the secret once, a test arrives, the log shows it, replay, delete", async () => {
  const { page, complaints } = someone;
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.name || document.activeElement.tagName);
  const tabTo = async (wanted) => {
    for (let n = 0; n < 80; n++) {
      await page.keyboard.press("Tab");
      if ((await focused()) === wanted) return;
    }
    assert.fail(`Tab does not lead to ${wanted}`);
  };
  await page.goto("/notifications");
  await page.getByText("No notifications yet").waitFor();
  await tabTo("New notification");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "New notification" }).waitFor();
  await tabTo("url");
  await page.keyboard.type(receiver.url);
  await page.keyboard.press("Tab");
  await page.keyboard.type("By keyboard");
  await tabTo("state");
  await page.keyboard.press("Space"); // not of those that succeeded
  await page.keyboard.press("Enter");
  await page.getByText("shown only once").waitFor();
  const secret = await copied(page, "secret");
  assert.match(secret, /^whsec_[A-Za-z0-9+/]+=*$/);
  const [made] = (await server.api("/notifications")).notifications;
  assert.deepEqual([made.name, made.url, made.states], ["By keyboard", receiver.url, ["CANCELLED", "ERROR", "FAILED"]]);
  await soundHere(page, "notification-secret");

  await tabTo("Send a test");
  await page.keyboard.press("Enter");
  const first = await receiver.next();
  assert.ok(authentic(first, secret), "the secret that was shown signs");
  assert.equal(JSON.parse(first.body).type, "notification.test");
  await page.locator(".head .tag", { hasText: "Delivered" }).waitFor(); // by itself
  await page.getByText(first.headers["webhook-id"]).first().waitFor();
  await page.getByText("It answered 204").first().waitFor();

  await tabTo("Replay");
  await page.keyboard.press("Enter");
  const second = await receiver.next();
  assert.deepEqual([second.headers["webhook-id"], second.body], [first.headers["webhook-id"], first.body]);
  await page.locator(".attempts tbody tr").nth(1).waitFor();
  await tabTo("By keyboard");
  await page.keyboard.press("Enter");
  await page.locator(".callbacks", { hasText: "2 attempts" }).waitFor();

  await tabTo("Delete notification");
  await page.keyboard.press("Enter");
  await page.getByText("This cannot be undone").waitFor();
  await tabTo("Delete notification");
  await page.keyboard.press("Enter");
  await page.getByText("Notification By keyboard is deleted").waitFor();
  assert.deepEqual((await server.api("/notifications")).notifications, []);
  assert.deepEqual(complaints, []);
});

test("C-1 a run that ends is told, and shows up on an open page without a reload", async () => {
  const { page, complaints } = someone;
  const made = await make({ name: "Ends", states: ["SUCCEEDED"] });
  await page.goto(`/notifications/${made.id}`);
  await page.getByText("Nothing was sent yet").waitFor();
  assert.deepEqual((await page.locator(".facts dt").allTextContents()).slice(0, 2), ["Events", "Runs"]);
  assert.equal(await page.locator(".facts dd").nth(1).textContent(), "all");
  await page.evaluate(() => (window.sameDocument = true));
  await page.locator("#edit").focus();
  const run = await server.startRun({ title: "<b>Told</b> of", prompt: shell("echo hi") });
  const callback = await receiver.next();
  assert.deepEqual([JSON.parse(callback.body).data.run_id, JSON.parse(callback.body).data.state], [run, "SUCCEEDED"]);
  await page.locator(".callbacks", { hasText: "It answered 204" }).waitFor();
  await page.getByRole("columnheader", { name: "New state" }).waitFor();
  assert.deepEqual(await page.evaluate(() => [window.sameDocument, document.activeElement.id]), [true, "edit"]);
  await page.getByRole("link", { name: "<b>Told</b> of" }).click();
  await page.waitForURL("**/deliveries/*");
  await page.locator(".facts dt", { hasText: "New state" }).waitFor();
  await page.getByRole("link", { name: "<b>Told</b> of" }).click();
  await page.waitForURL(`**/runs/${run}`);
  await server.api(`/notifications/${made.id}`, { method: "DELETE" });
  assert.deepEqual(complaints, []);
});

test("C-1 one that was given up says so on the overview and on its page, and is enabled there", async () => {
  const { page, complaints } = someone;
  const made = await make({ name: "Old pager", states: ["BLOCKED"] });
  receiver.status = 410;
  await server.api(`/notifications/${made.id}/test`, { method: "POST" });
  await receiver.next();
  await until(() => stored(made.id), ({ enabled }) => !enabled);
  receiver.status = 204;
  await page.goto("/");
  await page.getByRole("link", { name: "Old pager" }).click();
  await page.getByText("The server gave up").waitFor();
  await page.getByText("it answered 410 Gone").first().waitFor();
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByText("from the last 72 hours are sent now").waitFor();
  await page.getByRole("button", { name: "Send a test" }).click();
  await receiver.next();
  await page.locator(".head .tag", { hasText: "Delivered" }).waitFor();
  await page.goto(`/notifications/${made.id}?status=failed`);
  await page.locator(".callbacks", { hasText: "It answered 410 Gone" }).waitFor();
  assert.equal(await page.locator(".callbacks tbody tr").count(), 1);
  await server.api(`/notifications/${made.id}`, { method: "DELETE" });
  assert.deepEqual(complaints, []);
});

test("C-1 rotate with an overlap: both secrets sign; loading the page again ends none", async () => {
  const { page } = someone;
  const made = await make({ name: "Rotated", states: ["BLOCKED"] });
  await page.goto(`/notifications/${made.id}`);
  await page.getByRole("link", { name: "Rotate secret" }).click();
  assert.ok(await page.getByLabel("Works for one more day").isChecked(), "receivers have a day, unless somebody says otherwise");
  await page.getByLabel("Works for one more hour").check();
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await page.getByText("shown only once").waitFor();
  const secret = await copied(page, "secret");
  await page.reload();
  await page.getByText("was already created and shown once").waitFor();
  await server.api(`/notifications/${made.id}/test`, { method: "POST" });
  const callback = await receiver.next();
  assert.deepEqual([authentic(callback, made.secret), authentic(callback, secret)], [true, true]);
  await page.goto(`/notifications/${made.id}/rotate`);
  assert.ok(await page.getByLabel("Ends at once").isChecked(), "there is one overlap at a time");
  await server.api(`/notifications/${made.id}`, { method: "DELETE" });
});

test("I-2 edit and disable, and a form that comes back with what is wrong", async () => {
  const { page } = someone;
  const factory = await server.api("/factory", { body: { name: "Told shop" } });
  const made = await make({ name: "Edited" });
  await page.goto(`/notifications/${made.id}/edit`);
  await page.getByLabel("URL").fill("ftp://127.0.0.1/");
  await page.getByLabel("Told shop").check();
  await page.getByLabel("Blocked").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#url-hint.wrong").waitFor();
  assert.deepEqual([await page.getByLabel("Told shop").isChecked(), await page.getByLabel("Blocked").isChecked()], [true, true]);
  await soundHere(page, "notification-mistake");
  await page.getByLabel("URL").fill(receiver.url);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal(idOf(page), made.id);
  await page.getByRole("link", { name: "Told shop" }).waitFor();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("It was disabled").waitFor();
  const { enabled, states, factory_uids } = await stored(made.id);
  assert.deepEqual({ enabled, states, factory_uids }, { enabled: false, states: ["BLOCKED"], factory_uids: [factory.uid] });
});

test("S-3 a viewer sees all of it and no button", async () => {
  const made = await make({ name: "Looked at", states: ["BLOCKED"] });
  const viewer = await member(browser, server.url, { key: await server.keyFor("viewer") });
  for (const address of ["/notifications", `/notifications/${made.id}`]) {
    await viewer.page.goto(address);
    await viewer.page.getByText("Looked at").first().waitFor();
    assert.equal(await viewer.page.locator("main button:visible:not([data-copy]), main .button").count(), 0, address);
  }
  await viewer.context.close();
  assert.deepEqual(viewer.complaints, []);
});

looks("I-2 the pages are sound in both themes and on a phone", async () => {
  const made = await make({ name: "Sound ".repeat(14), description: "word ".repeat(60), states: ["BLOCKED"], run_name: "x".repeat(100) });
  receiver.status = 500;
  const { id } = await server.api(`/notifications/${made.id}/test`, { method: "POST" });
  await receiver.next();
  await until(() => server.api(`/notifications/${made.id}/deliveries/${id}`), ({ attempt_count }) => attempt_count > 0);
  receiver.status = 410;
  const gone = await make({ name: "Gone", states: ["BLOCKED"] });
  await server.api(`/notifications/${gone.id}/test`, { method: "POST" });
  await until(() => stored(gone.id), ({ enabled }) => !enabled);
  const at = `/notifications/${made.id}`;
  await sound(browser, server.url, {
    notifications: "/notifications", "notification-new": "/notifications/new", notification: at, "notification-gone": `/notifications/${gone.id}`,
    "notification-delivery": `${at}/deliveries/${id}`, "notification-edit": `${at}/edit`, "notification-rotate": `${at}/rotate`, "notification-delete": `${at}/delete`,
  });
});
