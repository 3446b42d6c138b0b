// What a hostile run, another site and a weak key can do: nothing.
import assert from "node:assert/strict";
import http from "node:http";
import test, { after, before } from "node:test";
import { assertWhole, launch, member, over, printed, shownLog } from "./browser.mjs";
import { Server, shell } from "./server.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
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
    assert.equal(await page.locator("iframe, img, svg, main script").count(), 0, when);
    const shown = log.filter((line) => line.kind === "stdout").map((line) => line.text).join("");
    for (const line of hostile.slice(0, 7)) assert.ok(shown.includes(line), `${when}: ${JSON.stringify(line)} is not in ${JSON.stringify(shown)}`);
    return log;
  };
  const live = await check("live");
  await page.reload();
  const again = await check("reloaded");
  assert.deepEqual(again, live);
  assert.deepEqual(complaints, []);

  await page.goto("/");
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.getByRole("link", { name: title }).count(), 1);
  assert.deepEqual(complaints, []);
  await context.close();
});

// HTML has no carriage returns and no NUL; nothing else of the text may differ.
const html = (text) => text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd");

function assertShape(log, events, when) {
  const straight = events.map((event) => (event.type === "output" ? { ...event, data: { ...event.data, text: html(event.data.text) } } : event));
  try {
    assertWhole(log, straight);
  } catch (error) {
    error.message = `${when}: ${error.message}`;
    throw error;
  }
}

test("S-4 every page carries a strict policy and keeps it", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const runID = await server.parkRun("Policy");
  for (const path of ["/login", "/", `/runs/${runID}`, "/no/such/page"]) {
    const headers = (await page.goto(path)).headers();
    const policy = headers["content-security-policy"];
    assert.match(policy, /default-src 'none'/, path);
    assert.match(policy, /frame-ancestors 'none'/, path);
    assert.match(policy, /form-action 'self'/, path);
    assert.doesNotMatch(policy, /unsafe|\*/, path);
    assert.equal(headers["x-content-type-options"], "nosniff", path);
    assert.equal(headers["cache-control"], "no-store", path);
  }
  assert.deepEqual(complaints.filter((text) => !text.includes("404")), []);
  await server.cancel(runID);
  await context.close();
});

test("S-4 a state change from another origin is refused", async () => {
  const runID = await server.parkRun("Target");
  // Another port of the same host is another origin to which the browser does send the cookie.
  const evil = http.createServer((request, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<form method="post" action="${server.url}/runs/${runID}/cancel"><button>Win a prize</button></form>`);
  });
  await new Promise((done) => evil.listen(0, "127.0.0.1", done));
  const { page, context } = await member(browser, server.url);
  await page.goto(`http://127.0.0.1:${evil.address().port}/`);
  const [response] = await Promise.all([
    page.waitForResponse((answer) => answer.url().endsWith("/cancel")),
    page.getByRole("button", { name: "Win a prize" }).click(),
  ]);
  assert.ok((await response.request().allHeaders()).cookie.includes("lineshaft_session="), "the attack carried no cookie");
  assert.equal(response.status(), 403);
  assert.equal((await server.run(runID)).state, "QUEUED");
  await server.cancel(runID);
  await context.close();
  await new Promise((done) => evil.close(done));
});

test("S-3 a viewer sees a run and can neither cancel nor continue it", async () => {
  const runID = await server.parkRun("Only to look at");
  const { page, context } = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await page.goto(`/runs/${runID}`);
  assert.equal(await page.getByRole("heading", { level: 1 }).textContent(), "Only to look at");
  assert.equal(await page.getByRole("button", { name: "Cancel run" }).count(), 0);
  assert.equal(await page.getByLabel("Follow up").count(), 0);
  const post = (action, form) => page.evaluate(([url, body]) => fetch(url, { method: "POST", body: new URLSearchParams(body) }).then((r) => r.status), [`/runs/${runID}/${action}`, form]);
  assert.equal(await post("cancel", {}), 403);
  assert.equal(await post("followups", { message: "x" }), 403);
  assert.equal((await server.run(runID)).state, "QUEUED");
  await server.cancel(runID);
  await context.close();
});
