// What a hostile run, another site and a weak key can do: nothing.
import assert from "node:assert/strict";
import http from "node:http";
import test, { after, before } from "node:test";
import { gunzipSync } from "node:zlib";
import { assertWhole, launch, member, onceOn, over, printed, shownLog } from "./browser.mjs";
import { Server, adminKey, shell } from "./server.mjs";
import { World, hostile as mark } from "./world.mjs";

let server, browser, world;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ flags: World.flags }), launch()]);
  world = await World.make(server, browser);
});
after(async () => {
  await world?.close();
  await browser?.close();
  await server?.stop();
});

const hostile = [
  "<script>window.hacked = 1; alert(1)</script>",
  '<img src=x onerror="window.hacked = 1">',
  "</pre></li></ol><iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
  "<svg onload=window.hacked=1>&lt;b&gt;&amp;amp;",
  "{{.Data}} ${window.hacked = 1} javascript:alert(1)",
  "\u001b[31mred\u001b[0m \u001b]8;;javascript:alert(1)\u0007link\u001b]8;;\u0007 \u001b[2J",
  "abc \u202edcba\u202c \u2066isolated\u2069 \u200fשלום\u200e",
  "zero\u0000byte \ufeffmark \u2028separator",
];

test("S-4 output full of HTML, scripts, ANSI codes and direction marks is shown as text", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const text = `\n${hostile.join("\n")}\ntrailing\r\nreturn\rend\n`;
  const file = Buffer.from(text).toString("base64");
  const title = hostile[0];
  const runID = await server.startRun({
    title,
    prompt: shell("mkfifo gate", "echo ready", "read a <gate", `echo ${file} | base64 -d`, `echo ${file} | base64 -d >&2`),
  });
  await page.goto(`/runs/${runID}`);
  await printed(page, "ready").waitFor();
  await server.openGate(runID);
  await over(page);

  const check = async (when) => {
    const log = await shownLog(page);
    assertShape(log, await server.events(runID), when);
    assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), title);
    assert.equal(await page.evaluate(() => window.hacked), undefined, when);
    assert.equal(await page.locator("iframe, img, svg:not(.icon, .brand svg, .spent svg), main script, main [onload], main [onerror]").count(), 0, when);
    const shown = log.filter((line) => line.kind.startsWith("stdout")).map((line) => line.text).join("");
    for (const line of hostile.slice(0, 7).map(html)) assert.ok(shown.includes(line), `${when}: ${JSON.stringify(line)} is not in ${JSON.stringify(shown)}`);
    return log;
  };
  const live = await check("live");
  await page.reload();
  const again = await check("reloaded");
  assert.deepEqual(again, live);
  assert.deepEqual(complaints, []);

  await page.goto("/runs");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.ok((await page.getByRole("link", { name: title }).count()) >= 1);
  assert.deepEqual(complaints, []);
  await context.close();
});

// HTML has no carriage returns and no NUL, and codes of a terminal are left out; nothing
// else of the text may differ.
const codes = /\u001b(?:\[[0-9;]*[A-Za-z]|\][^\u0007\n]*\u0007)/g;
const html = (text) => text.replace(codes, "").replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd");

function assertShape(log, events, when) {
  const straight = events.map((event) => (event.type === "output" ? { ...event, data: { ...event.data, text: html(event.data.text) } } : event));
  try {
    assertWhole(log, straight);
  } catch (error) {
    error.message = `${when}: ${error.message}`;
    throw error;
  }
}

/** What a hostile text did to the page that shows it; runs in the page. */
function breakouts(mark) {
  const found = [];
  if ("hacked" in window) found.push("a script of it ran");
  for (const bad of document.querySelectorAll("main :is(iframe, img, script, object, embed, base, link, meta, style), svg:not([viewBox], [aria-hidden])")) found.push(`there is ${bad.outerHTML.slice(0, 100)}`);
  for (const one of document.querySelectorAll("*")) {
    for (const { name, value } of one.attributes) {
      if (/^on|^style$|^srcdoc$/.test(name) || (/^(href|src|action|formaction)$/.test(name) && /^\s*(javascript|data|vbscript):/i.test(value))) found.push(`${one.tagName} has ${name}=${value.slice(0, 60)}`);
    }
  }
  // A text that turns the line around must be alone in its block, or set apart from what is beside it.
  const apart = (style) => /isolate|plaintext/.test(style.unicodeBidi);
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let shown = 0;
  for (let text = walk.nextNode(); text; text = walk.nextNode()) {
    if (!/[\u202e\u2066]/.test(text.data) || text.parentElement.closest("script, option, textarea, title")) continue;
    shown++;
    for (let one = text.parentElement; ; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (apart(style)) break;
      if (style.display === "inline" || style.display === "contents") continue;
      if (one.textContent.trim() !== text.data.trim()) found.push(`a text that turns the line around is not set apart in ${one.tagName}.${one.className}: ${one.textContent.trim().slice(0, 80)}`);
      break;
    }
  }
  return { found, shown: shown > 0 || document.body.textContent.includes(mark.slice(0, 60)) };
}

// Where the texts of others must be seen; elsewhere they may.
const showing = [
  "/{$}", "/runs", "/runs/{id}", "/runs/cancel", "/search", "/factories", "/factories/{factory}", "/factories/{factory}/edit", "/factories/{factory}/delete", "/factories/{factory}/revisions/{number}",
  "/agents", "/agents/{uid}", "/agents/{uid}/edit", "/automations", "/automations/new", "/factories/{factory}/automations/{uid}", "/factories/{factory}/automations/{uid}/edit",
  "/webhooks", "/webhooks/new", "/factories/{factory}/webhooks/{webhook}", "/factories/{factory}/webhooks/{webhook}/deliveries/{delivery}",
  "/environments", "/environments/{uid}", "/environments/{uid}/edit", "/environments/{uid}/delete", "/schedules", "/schedules/{id}", "/schedules/{id}/edit", "/schedules/{id}/delete",
  "/secrets", "/secrets/{name}", "/keys", "/keys/{id}/revoke", "/audit",
];

onceOn("postgres", "S-4 every page carries a strict policy, keeps it, and shows what others wrote as text", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const shown = [], found = [];
  for (const [route, address] of [...Object.entries(world.pages), ["no such page", "/no/such/page"]]) {
    const headers = (await page.goto(address)).headers();
    const policy = headers["content-security-policy"];
    assert.match(policy, /default-src 'none'/, route);
    assert.match(policy, /frame-ancestors 'none'/, route);
    assert.match(policy, /form-action 'self'/, route);
    assert.doesNotMatch(policy, /unsafe|\*|data:|https?:/, route);
    assert.equal(headers["x-content-type-options"], "nosniff", route);
    assert.equal(headers["cache-control"], "no-store", route);
    await page.$$eval("main details", (all) => all.forEach((one) => (one.open = true)));
    const here = await page.evaluate(breakouts, mark);
    found.push(...here.found.map((what) => `${route}: ${what}`));
    if (here.shown) shown.push(route);
    found.push(...complaints.splice(0).filter((text) => !text.includes("404")).map((what) => `${route}: ${what}`));
  }
  assert.deepEqual(found, []);
  assert.deepEqual(showing.filter((route) => !shown.includes(route)), [], "these pages were to show a hostile text and do not");
  await context.close();
});

onceOn("postgres", "S-4 a file to save is no page", async () => {
  const { context } = await member(browser, server.url);
  for (const [route, address] of Object.entries(world.files)) {
    const response = await context.request.get(address);
    assert.equal(response.status(), 200, route);
    assert.match(response.headers()["content-disposition"], /^attachment/, route);
    assert.equal(response.headers()["x-content-type-options"], "nosniff", route);
    assert.doesNotMatch(response.headers()["content-type"], /html|svg|xml/, route);
  }
  await context.close();
});

test("S-5 what was shown once is in no page, no part of a page and no file", async () => {
  const { context } = await member(browser, server.url);
  const secrets = Object.entries({ ...world.secrets, admin: adminKey, master: process.env.LINESHAFT_MASTER_KEY });
  const looked = { ...world.pages, ...world.pieces, ...world.files, "/sessions?of=everybody": "/sessions?of=everybody", "/keys?show=ended": "/keys?show=ended" };
  for (const [route, address] of Object.entries(looked)) {
    const response = await context.request.get(address, { headers: route in world.pieces ? { "hx-request": "true" } : {} });
    assert.equal(response.status(), 200, route);
    const body = await response.body();
    const text = body[0] === 0x1f && body[1] === 0x8b ? gunzipSync(body).toString() : body.toString();
    for (const [name, value] of secrets) {
      for (const form of [value, encodeURIComponent(value), Buffer.from(value).toString("base64")]) assert.ok(!text.includes(form), `${route} has the ${name}`);
    }
  }
  await context.close();
});

onceOn("postgres", "S-4 every state change from another origin is refused", async (t) => {
  // Another port of the same host is another origin to which the browser does send the cookie.
  const evil = http.createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<form method="post" action="${server.url}${request.url}"><input name="name" value="forged"><button>Win a prize</button></form>`);
  });
  await new Promise((done) => evil.listen(0, "127.0.0.1", done));
  t.after(() => evil.close().closeAllConnections());
  const { page, context } = await member(browser, server.url);
  const before = await world.state();
  for (const [route, address] of Object.entries(world.changes)) {
    await page.goto(`http://127.0.0.1:${evil.address().port}${address}`);
    const [response] = await Promise.all([
      page.waitForResponse((answer) => answer.url() === server.url + address),
      page.getByRole("button", { name: "Win a prize" }).click(),
    ]);
    assert.match((await response.request().allHeaders()).cookie ?? "", /lineshaft_session=/, `${route}: the attack carried no cookie`);
    assert.equal(response.status(), 403, route);
  }
  assert.deepEqual(await world.state(), before);
  assert.equal((await context.request.get("/runs", { maxRedirects: 0 })).status(), 200, "the session has ended");
  await context.close();
});

// Anybody may do these, and each to oneself alone.
const everybodys = ["POST /login", "POST /logout", "POST /theme", "POST /sessions/others", "POST /sessions/{id}/end"];

onceOn("sqlite", "S-3 a viewer sees no button it may not press, is refused each change it forges, and nothing changes", async () => {
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  for (const [route, address] of Object.entries(world.pages)) {
    if ((await page.goto(address)).status() !== 200) continue;
    const forms = await page.$$eval("main form[method=post]", (all) => all.map((form) => new URL(form.action).pathname));
    assert.deepEqual(forms.filter((to) => !to.startsWith("/sessions/") && to !== "/login"), [], `${route} has forms`);
    assert.deepEqual(await page.$$eval("main a[href]", (all) => all.map((a) => a.getAttribute("href")).filter((to) => /\/(new|edit|delete|rotate|redeliver|rollback|unlink|revoke)$/.test(to))), [], `${route} has links`);
  }
  const before = await world.state();
  for (const [route, address] of Object.entries(world.changes)) {
    if (everybodys.includes(route)) continue;
    const response = await context.request.post(address, { form: forged, headers: { origin: server.url }, maxRedirects: 0 });
    assert.equal(response.status(), 403, route);
  }
  // The session of somebody else is not there for a viewer.
  assert.equal((await context.request.post(world.at("POST /sessions/{id}/end"), { headers: { origin: server.url }, maxRedirects: 0 })).status(), 404);
  assert.equal((await context.request.post("/sessions/others", { headers: { origin: server.url }, maxRedirects: 0 })).status(), 303);
  assert.equal((await world.other.context.request.get("/runs", { maxRedirects: 0 })).status(), 200, "somebody else's session has ended");
  assert.deepEqual(await world.state(), before);
  await context.close();
});

const forged = { id: "x", name: "forged", prompt: "forged", message: "forged", value: "forged", role: "admin", kind: "token", enabled: "false", paused: "true", match: "1" };
