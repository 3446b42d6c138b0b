// I-2, W-3 to W-5, W-11, W-15: webhooks from the first card to the last delivery.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test, { after, before } from "node:test";
import { promisify } from "node:util";
import { everything, launch, looks, member, sound, soundHere } from "./browser.mjs";
import { Server, shell } from "./server.mjs";

const run = promisify(execFile);
let server, browser, someone, shop;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  someone = await member(browser, server.url);
  shop = await factory("Hooked shop");
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

async function factory(name) {
  const { uid } = await server.api("/factory", { body: { name } });
  const at = `/factory/${uid}`;
  return {
    uid,
    page: `/factories/${uid}/webhooks`,
    hook: (body) => server.api(`${at}/webhooks`, { body }),
    hooks: async () => (await server.api(`${at}/webhooks`)).webhooks,
    automate: (name, hook, prompt = shell("echo ran"), payload) =>
      server.api(`${at}/automations`, {
        body: { name, prompt, enabled: true, triggers: [{ provider: "webhook", event: "received", filter: { webhook_ids: [hook], payload } }] },
      }),
    change: (uid, body) => server.api(`${at}/webhooks/${uid}`, { method: "PATCH", body }),
    deliveries: async (uid) => (await server.api(`${at}/webhooks/${uid}/deliveries`)).deliveries,
  };
}

/** Runs lines as if they were pasted into a shell, and gives back what they print. */
const paste = async (script) => (await run("bash", ["-c", script])).stdout;

const copied = (page, label) => page.locator(`pre[aria-label="${label}"]`).textContent();

/** Sends a body with a bearer token and gives back the status. */
async function send(hook, secret, body = "{}") {
  const response = await fetch(hook.ingress_url, { method: "POST", headers: { authorization: `Bearer ${secret}` }, body });
  await response.text();
  return response.status;
}

/** From the first card to what the sender has to know; the secret is the given one, if any. */
async function create(page, where, kind, options) {
  await page.goto(`${where.page}/new`);
  await page.locator(`a[href="?kind=${kind}"]`).click();
  return fillIn(page, where, kind, options);
}

/** The same from the form of a kind on. */
async function createOf(page, where, kind, options) {
  await page.goto(`${where.page}/new?kind=${kind}`);
  return fillIn(page, where, kind, options);
}

async function fillIn(page, where, kind, { name = `from ${kind}`, secret, settings = {} } = {}) {
  await page.getByLabel("Name", { exact: true }).fill(name);
  for (const [label, value] of Object.entries(settings)) await page.getByLabel(label, { exact: true }).fill(value);
  if (secret) {
    await page.getByRole("radio", { name: /^I have / }).check();
    await page.locator("#secret").fill(secret);
  }
  await page.getByRole("button", { name: "Create webhook" }).click();
  await page.getByText(/is ready|Almost there/).waitFor();
  return (await where.hooks()).find((hook) => hook.name === name);
}

async function arrives(page, script) {
  await page.getByText("Waiting for the first delivery").waitFor();
  assert.match(await paste(script), /"delivery_id": ?"[^"]+"\}? \(202\)/);
  await page.getByText("First delivery arrived").waitFor();
}

const place = "PASTE THE SECRET HERE";

for (const kind of ["token", "url_token", "github"]) {
  test(`W-3 ${kind}: created, tried from a shell, and the run starts and ends live`, async () => {
    const { page, complaints } = someone;
    const hook = await create(page, shop, kind);
    await shop.automate(`Listens to ${kind}`, hook.uid);
    await arrives(page, await copied(page, "test command"));
    await page.getByRole("link", { name: "See the result" }).click();
    await page.waitForURL(/\/deliveries\/[^/]+$/);
    await page.evaluate(() => (window.sameDocument = true));
    await page.locator(".outcomes .badge", { hasText: "Succeeded" }).waitFor();
    assert.equal(await page.evaluate(() => window.sameDocument), true);
    await page.getByRole("link", { name: "Open run" }).click();
    await page.getByText("ran", { exact: true }).first().waitFor();
    assert.deepEqual(complaints, []);
  });
}

test("W-3 the other kinds whose secret is made here take what their command sends", async () => {
  const { page, complaints } = someone;
  const other = await factory("Made here");
  const kinds = ["gitlab", "bitbucket", "calendly", "circleci", "grafana", "jira", "standard_webhooks", "typeform"];
  for (const kind of everything ? kinds : kinds.slice(0, 2)) {
    await createOf(page, other, kind);
    await page.locator("a.primary", { hasText: "New automation for it" }).waitFor();
    await arrives(page, await copied(page, "test command"));
    await page.locator(".wait .callout.warn", { hasText: "no automation listens" }).waitFor();
  }
  const settings = {
    "Header with the signature": "X-Own-Sig", "Text before it": "v1=", "What is signed": "{timestamp}.{id}.{body}",
    "Header with the time": "X-Own-Time", "Header with the delivery id": "X-Own-Id",
  };
  await create(page, other, "hmac", { settings });
  await arrives(page, await copied(page, "test command"));
  assert.deepEqual(complaints, []);
});

test("W-4 a secret that the provider issued: given at once, and its command needs it put in", async () => {
  const { page, complaints } = someone;
  const other = await factory("Issued");
  const issued = ["linear", "buildkite", "dropbox", "hubspot", "intercom", "pagerduty", "sentry", "shopify", "slack", "square", "twilio", "vercel", "zoom"];
  for (const kind of everything ? issued : issued.slice(0, 2)) {
    const secret = `it's "$the" secret of ${kind}`;
    await createOf(page, other, kind, { secret });
    const script = await copied(page, "test command");
    assert.ok(!script.includes(secret) && script.includes(place), script);
    await arrives(page, script.replace(`'${place}'`, () => `'${secret.replaceAll("'", `'\\''`)}'`));
    assert.ok(!(await page.content()).includes("secret of " + kind));
  }
  await create(page, other, "discord", { secret: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a" });
  await page.getByText("only it has").waitFor();
  assert.deepEqual(complaints, []);
});

test("W-4 finish set-up: the secret comes later and enables the webhook", async () => {
  const { page, complaints } = someone;
  const hook = await create(page, shop, "stripe");
  assert.equal(hook.needs_secret, true);
  assert.equal(await page.getByText("Waiting for the first delivery").count(), 0);
  await page.getByRole("link", { name: "Enter the secret" }).click();
  await page.getByLabel("The secret").fill("whsec_from_stripe");
  await page.getByRole("button", { name: "Save and enable" }).click();
  const script = await copied(page, "test command");
  await arrives(page, script.replace(place, "whsec_from_stripe"));
  await page.getByRole("link", { name: "Open webhook" }).click();
  await page.getByText("Enabled", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
});

test("I-2 the keyboard alone makes a webhook", async () => {
  const { page, complaints } = someone;
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.name || document.activeElement.tagName);
  const tabTo = async (wanted) => {
    for (let n = 0; n < 80; n++) {
      await page.keyboard.press("Tab");
      if ((await focused()) === wanted) return;
    }
    assert.fail(`Tab does not lead to ${wanted}`);
  };
  await page.goto(`/webhooks?factory=${shop.uid}`);
  await tabTo("New webhook");
  await page.keyboard.press("Enter");
  await page.getByText("Where does it come from?").waitFor();
  await tabTo("GitHub");
  await page.keyboard.press("Enter");
  await page.getByLabel("Name", { exact: true }).waitFor();
  await tabTo("name");
  await page.keyboard.press("Control+A");
  await page.keyboard.type("by keyboard");
  await tabTo("from");
  await page.keyboard.press("ArrowDown"); // I have one
  await page.locator("#secret").waitFor({ state: "visible" });
  await page.keyboard.press("ArrowUp"); // Generate one
  await page.keyboard.press("Enter");
  await page.getByText("is ready").waitFor();
  await arrives(page, await copied(page, "test command"));
  await tabTo("See the result");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Result" }).waitFor();
  assert.deepEqual(complaints, []);
});

test("W-5 disabled is 404, enabled is served again", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "switched" });
  await page.goto(`${shop.page}/${hook.uid}`);
  assert.equal(await page.title(), "switched · Hooked shop · Lineshaft");
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("Senders get 404 from now on").waitFor();
  assert.equal(await send(hook, hook.secret), 404);
  await page.getByRole("button", { name: "Enable" }).click();
  await page.getByText("It accepts deliveries again").waitFor();
  assert.equal(await send(hook, hook.secret), 202);
  assert.deepEqual(complaints, []);
});

test("W-5 rotate: at once the old secret ends, with an overlap both work", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "rotated" });
  const rotate = async (overlap) => {
    await page.goto(`${shop.page}/${hook.uid}`);
    await page.getByRole("link", { name: "Rotate secret" }).click();
    await page.getByLabel(overlap).check();
    await page.getByRole("button", { name: "Rotate secret" }).click();
    await page.getByText("cannot be read again").waitFor();
    return copied(page, "secret");
  };
  const second = await rotate("Ends at once");
  assert.deepEqual([await send(hook, hook.secret), await send(hook, second, "[2]")], [401, 202]);
  const third = await rotate("Works for one more hour");
  assert.deepEqual([await send(hook, second, "[3]"), await send(hook, third, "[4]")], [202, 202]);
  await page.getByText("First delivery arrived").waitFor();
  const fourth = await rotate("Ends at once");
  assert.deepEqual([await send(hook, second, "[5]"), await send(hook, third, "[6]"), await send(hook, fourth, "[7]")], [401, 401, 202]);
  assert.deepEqual(complaints, []);
});

test("W-5 a secret is rotated in three clicks, and by itself that gives the sender a day", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "rotated safely" });
  await page.goto("/webhooks");
  await page.getByRole("link", { name: "rotated safely" }).click();
  await page.getByRole("link", { name: "Rotate secret" }).click();
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await page.getByText("cannot be read again").waitFor();
  const next = await copied(page, "secret");
  assert.deepEqual([await send(hook, hook.secret, "[1]"), await send(hook, next, "[2]")], [202, 202]);
  await page.goto(`${shop.page}/${hook.uid}/rotate`);
  assert.ok(await page.getByLabel("Ends at once").isChecked(), "there is one overlap at a time");
  assert.deepEqual(complaints, []);
});

test("I-2 the senders that most people look for come first", async () => {
  const { page } = someone;
  await page.goto(`${shop.page}/new`);
  assert.deepEqual((await page.locator(".kinds.tight .kind").allTextContents()).slice(0, 4), ["GitHub", "GitLab", "Slack", "Linear"]);
});

test("I-2 senders and kinds to choose from stand in columns of one width", async () => {
  const { page } = someone;
  await page.goto(`${shop.page}/new`);
  for (const list of ["providers", "others"]) {
    const cards = await page.locator(`[aria-labelledby=${list}] .kind`).evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.ok(cards.length > 3, `${cards.length} cards`);
    assert.equal(new Set(cards.map((card) => Math.round(card.width))).size, 1, `widths of ${list}: ${cards.map((card) => card.width)}`);
    assert.ok(new Set(cards.map((card) => Math.round(card.left))).size < 10, `the cards of ${list} begin anywhere`);
  }
});

test("W-18 a test event is signed by the server, taken like any delivery, and marked", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "tried here", auth_mode: "signature", signature_scheme: "github" });
  await shop.automate("takes the trial", hook.uid);
  await page.goto(`${shop.page}/${hook.uid}`);
  await page.getByRole("link", { name: "Send test event" }).click();
  await page.getByRole("button", { name: "Send test event" }).click();
  await page.waitForURL("**/deliveries/*");
  assert.deepEqual(await page.locator(".head .tag").allTextContents(), ["Started", "Test"]);
  await page.getByRole("link", { name: "Open run" }).click();
  await page.locator("#state").getByText("Succeeded").waitFor();
  assert.deepEqual(complaints, []);
});

test("I-2 a sender is found by a part of its name", async () => {
  const { page, complaints } = someone;
  await page.goto(`${shop.page}/new`);
  await page.getByLabel("Find a sender").fill("STRI");
  await page.locator(".kind", { hasText: "GitHub" }).waitFor({ state: "hidden" });
  assert.deepEqual(await page.locator(".kinds.tight .kind").filter({ visible: true }).allTextContents(), ["Stripe"]);
  assert.deepEqual(complaints, []);
});

looks("I-2 webhooks of several factories stand in the same columns", async () => {
  const { page } = someone;
  await shop.hook({ name: "a-name-that-is-rather-long-for-a-webhook" });
  const { uid } = await server.api("/factory", { body: { name: "Beside the shop" } });
  await server.api(`/factory/${uid}/webhooks`, { body: { name: "w", auth_mode: "url_token" } });
  await page.goto("/webhooks");
  const columns = await page.$$eval("table.list thead", (heads) => heads.map((head) => [...head.querySelectorAll("th")].map((one) => Math.round(one.getBoundingClientRect().x))));
  assert.ok(columns.length > 1, "one table only");
  for (const one of columns) assert.deepEqual(one, columns[0]);
  await page.getByRole("columnheader", { name: "Authentication" }).first().waitFor();
});

test("W-5 delete names the automations that it no longer reaches, then it is 404 and the log stays", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "doomed" });
  await shop.automate("Will be silent", hook.uid);
  assert.equal(await send(hook, hook.secret), 202);
  await page.goto(`${shop.page}/${hook.uid}`);
  await page.getByRole("link", { name: "Delete" }).click();
  await page.getByText("1 automation gets no more deliveries from it").waitFor();
  await page.getByRole("link", { name: "Will be silent" }).waitFor();
  await page.getByRole("button", { name: "Delete webhook" }).click();
  await page.getByText("Webhook doomed is deleted").waitFor();
  assert.equal(await send(hook, hook.secret), 404);
  await page.goto(`${shop.page}/${hook.uid}`);
  await page.getByText("This webhook is deleted").waitFor();
  await page.getByText("1 started").waitFor();
  assert.deepEqual(complaints, []);
});

test("W-11 deliveries appear on an open page and open in place", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "watched" });
  await shop.automate("Opened only", hook.uid, shell("echo ran"), { action: ["opened"] });
  await page.goto(`${shop.page}/${hook.uid}`);
  await page.getByText("No deliveries yet").waitFor();
  assert.equal(await send(hook, hook.secret, '{"n":1}'), 202);
  await page.locator("details.delivery").waitFor();
  await page.evaluate(() => (window.sameDocument = true));
  // It is unfolded although another one comes, above it, between the press of the pointer and its release.
  await page.locator("details.delivery summary").first().hover();
  await page.mouse.down();
  const news = page.waitForResponse(async (answer) => answer.request().headers()["hx-request"] === "true" && answer.status() === 200 && (await answer.text()).includes("delivery-item"));
  assert.equal(await send(hook, hook.secret, '{"n":2}'), 202);
  await news;
  await page.mouse.up();
  await page.getByText("payload.action").waitFor();
  assert.equal(await send(hook, "wrong", "{}"), 401);
  await page.locator("details.delivery").nth(2).waitFor();
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.deepEqual(await page.locator("details.delivery .tag").first().textContent(), "Rejected (auth)");
  assert.equal(await page.getByText("payload.action").count(), 1); // what was open stays open
  assert.deepEqual(complaints, []);
});

test("I-2 a payload is in colours, its parts fold, and all of it is copied", async () => {
  const hook = await shop.hook({ name: "folded" });
  const body = { action: "opened", issue: { number: 7, labels: [{ name: "bug" }] } };
  assert.equal(await send(hook, hook.secret, JSON.stringify(body)), 202);
  const [delivery] = await shop.deliveries(hook.uid);
  const { page, context, complaints } = await member(browser, server.url);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${shop.page}/${hook.uid}/deliveries/${delivery.delivery_id}`);
  const payload = page.locator(".payload");
  const [key, text] = await Promise.all([".key", ".string"].map((one) => payload.locator(one).first().evaluate((part) => getComputedStyle(part).color)));
  assert.notEqual(key, text);
  const lines = await payload.evaluate((one) => Math.round(one.scrollHeight / Number.parseFloat(getComputedStyle(one).lineHeight)));
  await payload.locator("summary", { hasText: '"issue"' }).click();
  assert.equal(await payload.getByText('"bug"').isVisible(), false);
  assert.ok(lines >= 10 && lines <= 13, `${lines} lines of 11`);
  await page.getByRole("button", { name: "Copy payload" }).click();
  await page.getByText("Copied").waitFor();
  assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), body);
  await payload.locator("summary", { hasText: '"issue"' }).press("Enter");
  await payload.getByText('"bug"').waitFor();
  await soundHere(page, "delivery with a payload that folds");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("W-15 redeliver: first what would start, then it does, and both are linked", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "repeated" });
  assert.equal(await send(hook, hook.secret, '{"again":true}'), 202);
  await shop.automate("Started later", hook.uid);
  const [first] = await shop.deliveries(hook.uid);
  await page.goto(`${shop.page}/${hook.uid}/deliveries/${first.delivery_id}`);
  await page.getByText("No automation listened").waitFor();
  await page.getByRole("link", { name: "Redeliver" }).click();
  await page.getByText("Would start 1 run").waitFor();
  assert.equal((await shop.deliveries(hook.uid)).length, 1);
  await page.getByRole("button", { name: "Redeliver" }).click();
  await page.getByText("Delivered again").waitFor();
  await page.locator(".outcomes .badge", { hasText: "Succeeded" }).waitFor();
  await page.locator(".chain a").click();
  await page.waitForURL(`**/${first.delivery_id}`);
  await page.getByText("Redelivered as").waitFor();
  assert.deepEqual(complaints, []);
});

test("S-5 payloads of HTML, script, right-to-left marks and a huge line are text", async () => {
  const { page, complaints } = someone;
  const hook = await shop.hook({ name: "hostile", max_body_bytes: 1 << 20 });
  const line = `</pre><script>window.broken=1</script><img src=x onerror="window.broken=2">\u202egnp\u202c \u001b[31m ${"long".repeat(240_000)}`;
  const body = JSON.stringify({ line, after: "the end" });
  assert.equal(await send(hook, hook.secret, body), 202);
  const [delivery] = await shop.deliveries(hook.uid);
  await page.goto(`${shop.page}/${hook.uid}/deliveries/${delivery.delivery_id}`);
  const shown = await page.locator(".payload").textContent();
  assert.ok(shown.includes("</pre><script>window.broken=1</script>") && shown.length <= 65536, shown.slice(0, 200));
  assert.equal(await page.evaluate(() => window.broken), undefined);
  const [width, room] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(width <= room, `${width} px in ${room} px`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: /^Download/ }).click()]);
  const stream = await download.createReadStream();
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  assert.equal(Buffer.concat(chunks).toString(), body);
  await page.goto(`${shop.page}/${hook.uid}`);
  await page.locator("details.delivery summary").click();
  await page.locator(".peek .payload").waitFor();
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.deepEqual(complaints, []);
});

test("S-5 after the first showing no page has the secret", async () => {
  const { page } = someone;
  const hook = await create(page, shop, "token", { name: "secretive" });
  const secret = await copied(page, "secret");
  assert.equal(await send(hook, secret), 202);
  const [delivery] = await shop.deliveries(hook.uid);
  const at = `${shop.page}/${hook.uid}`;
  const log = `${at}/deliveries/${delivery.delivery_id}`;
  const places = ["/webhooks", `/webhooks?factory=${shop.uid}`, at, `${at}/edit`, `${at}/rotate`, `${at}/delete`, `${at}/first`, log, `${log}/peek`, `${log}/redeliver`, `${log}/payload`, "/secrets", "/audit"];
  for (const address of places) {
    const response = await page.request.get(address);
    assert.ok(!(await response.text()).includes(secret), address);
  }
});

test("F-5 a factory that follows a repository has no buttons, and a forged change is 409", async () => {
  const { page, complaints } = someone;
  const followed = await factory("Followed");
  const hook = await followed.hook({ name: "declared" });
  const source = "https://127.0.0.1:1/owner/repo.git";
  await server.api(`/factory/${followed.uid}`, { method: "PATCH", body: { repository: { url: source, branch: "main" } } });
  await page.goto(`${followed.page}/${hook.uid}`);
  await page.getByRole("link", { name: source }).waitFor();
  assert.deepEqual(await page.locator("main :not([role=search]) > button:not([data-copy]), main .actions a").count(), 0);
  for (const action of ["disable", "rotate", "delete", "edit"]) {
    const response = await page.request.post(`${followed.page}/${hook.uid}/${action}`, { form: { from: "make" }, headers: { origin: server.url } });
    assert.equal(response.status(), 409, action);
  }
  assert.deepEqual(complaints, []);
});

test("S-3 a viewer sees no button and gets 403 for each forged change", async () => {
  const hook = await shop.hook({ name: "looked at" });
  assert.equal(await send(hook, hook.secret), 202);
  const [delivery] = await shop.deliveries(hook.uid);
  const viewer = await member(browser, server.url, { key: await server.keyFor("viewer") });
  const { page } = viewer;
  const at = `${shop.page}/${hook.uid}`;
  for (const address of [`/webhooks?factory=${shop.uid}`, at, `${at}/deliveries/${delivery.delivery_id}`]) {
    await page.goto(address);
    assert.deepEqual(await page.getByRole("link", { name: /New|Rotate|Delete|Edit|Redeliver|Enter/ }).filter({ hasNotText: "webhooks" }).locator("visible=true").and(page.locator("main a")).count(), 0, address);
    assert.deepEqual(await page.locator("main form[method=post] button").count(), 0, address);
  }
  const changes = [shop.page, `${at}/enable`, `${at}/disable`, `${at}/rotate`, `${at}/edit`, `${at}/delete`, `${at}/deliveries/${delivery.delivery_id}/redeliver`];
  for (const address of changes) {
    const response = await page.request.post(address, { form: { kind: "token", name: "forged" }, headers: { origin: server.url } });
    assert.equal(response.status(), 403, address);
  }
  assert.deepEqual(viewer.complaints, []);
  await viewer.context.close();
});

looks("I-2 what is shown once breaks no rule of accessibility either", async () => {
  const { page } = someone;
  const other = await factory("Shown once");
  for (const kind of ["github", "linear"]) {
    await create(page, other, kind);
    await soundHere(page, `created ${kind}`);
    await page.setViewportSize({ width: 1280, height: 720 });
  }
});

looks("I-2 pages of webhooks break no rule of accessibility, in both themes, wide and on a phone", async () => {
  const hook = await shop.hook({ name: "a-name-that-is-as-long-as-a-name-may-be-and-has-no-place-to-break-because-it-is-one-single-long-word" });
  await shop.automate("Picky about everything", hook.uid, shell("echo ran"), { action: ["opened"] });
  for (const n of [1, 2]) assert.equal(await send(hook, hook.secret, JSON.stringify({ n, word: "w".repeat(300) })), 202);
  const [delivery] = await shop.deliveries(hook.uid);
  const at = `${shop.page}/${hook.uid}`;
  await sound(browser, server.url, {
    "webhook form": `${shop.page}/new?kind=hmac`, "webhook form, secret first": `${shop.page}/new?kind=slack`, webhook: at,
    "delete webhook, silencing": `${at}/delete`, "delivery, long": `${at}/deliveries/${delivery.delivery_id}`,
  }, {
    settled: async (page, name) => {
      if (name !== "webhook") return;
      await page.locator("details.delivery summary").first().click();
      await page.locator(".peek .payload").waitFor();
    },
  });
});
