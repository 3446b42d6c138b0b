// I-2 the page of a run: where it opens, how long everything took, and how to find something in it.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { inState, launch, looks, member, over, sound, soundHere } from "./browser.mjs";
import { signedWebhook } from "./sender.mjs";
import { Server } from "./server.mjs";
import { Worker, call, output, result, says } from "./worker.mjs";

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

const phone = { viewport: { width: 390, height: 844 } };
const paragraphs = (count) => Array.from({ length: count }, (_, n) => says(`paragraph ${n}`));
/** Waits until something is where a reader sees it, and not only in the page. */
const inSight = async (locator) => {
  const shown = await locator.elementHandle();
  await locator.page().waitForFunction((one) => one.getBoundingClientRect().top >= 0 && one.getBoundingClientRect().bottom <= innerHeight, shown);
};
/** Puts events at a number of seconds before now, the same now for all of them. */
const clock = (now = Date.now()) => (seconds, [type, data]) => [type, data, new Date(now - 1000 * seconds).toISOString()];

test("I-2 a run that waits opens at its question with its title in sight, on a phone too", async () => {
  const worker = await Worker.claim(server, { title: "Asks on a phone" });
  await worker.tell(...paragraphs(30));
  const options = [{ id: "y", name: "Push it", kind: "allow_once" }, { id: "n", name: "Do not", kind: "reject_once" }];
  const answer = worker.ask({ title: "May I push?", options });
  const desk = await member(browser, server.url);
  await desk.page.goto(`/runs/${worker.runID}`);
  await desk.page.getByText("May I push?").waitFor();
  for (const [name, view] of Object.entries({ phone, desk: {} })) {
    const { page, context, complaints } = await member(browser, server.url, view);
    await page.goto(`/runs/${worker.runID}`);
    await page.locator("#now").getByText("Asks on a phone").waitFor();
    await inSight(page.locator(".question.open"));
    await inSight(page.getByRole("button", { name: "Push it" }));
    await inSight(page.locator("#now .badge"));
    assert.deepEqual(complaints, []);
    await context.close();
  }
  await desk.page.getByRole("button", { name: "Push it" }).click();
  assert.equal(await answer, "y");
  await desk.context.close();
  await worker.end();
});

test("I-2 j and k lead through a log from what is on the screen, and a live run leaves you there", async () => {
  const worker = await Worker.claim(server, { title: "Is read by keyboard" });
  await worker.tell(...paragraphs(40), call("c1", "Bash", { command: "make" }), result("c1", "made"), ...paragraphs(3));
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto(`/runs/${worker.runID}`);
  const last = page.locator("#log > .item").last(), focused = page.locator("#log > .item:focus, #log > .item:has(:focus)");
  await inSight(last);
  await page.keyboard.press("k");
  assert.ok(await last.evaluate((one) => one === document.activeElement), "k begins with the last entry on the screen");
  for (let n = 0; n < 3; n++) await page.keyboard.press("k");
  assert.equal(await focused.locator("summary:focus").count(), 1, "the stop of a tool call is what unfolds it");
  await page.keyboard.press("k");
  assert.match(await focused.textContent(), /paragraph 39/);
  await inSight(focused);
  await worker.tell(...paragraphs(60));
  await page.locator("#jump").waitFor();
  await page.waitForFunction(() => document.querySelectorAll("#log > .item").length > 100);
  await inSight(focused);
  assert.match(await focused.textContent(), /paragraph 39/);
  await worker.end();
  await over(page);
  await page.goto("/runs"); // or the browser would show the same place of the page again
  await page.goto(`/runs/${worker.runID}`);
  await page.keyboard.press("j");
  await inSight(focused);
  assert.equal(await focused.evaluate((one) => [...one.parentElement.children].indexOf(one)), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the bar has the one thing to do now: answer, cancel, run again or redeliver", async () => {
  const { page, context, complaints } = await member(browser, server.url, { viewport: { width: 1280, height: 500 } });
  const bar = page.locator("#now"), actions = bar.locator(".button, button");
  const only = async (name) => {
    await actions.filter({ hasText: name }).waitFor();
    assert.deepEqual((await actions.allTextContents()).map((text) => text.trim()), [name]);
  };
  const worker = await Worker.claim(server, { title: "Has one thing to do" });
  await worker.tell(...paragraphs(40), ["usage", { model_id: "m-1", input_tokens: 1200, output_tokens: 34, cost_micros: 5600 }]);
  const answer = worker.ask({ title: "May I push?", options: [{ id: "y", name: "Push it", kind: "allow_once" }] });
  await page.goto(`/runs/${worker.runID}`);
  await only("Answer");
  await bar.locator(".cost", { hasText: "$0.0056" }).waitFor();
  await actions.click();
  await page.waitForFunction(() => document.activeElement.id === "message");
  await page.getByRole("button", { name: "Push it" }).click();
  assert.equal(await answer, "y");
  await worker.tell(...paragraphs(40));
  await only("Cancel");
  await actions.click();
  await page.getByRole("button", { name: "Keep it" }).click();
  await worker.end("FAILED", "it broke");
  await only("Run again");
  await page.setViewportSize({ width: 360, height: 500 });
  await page.waitForFunction(() => innerWidth === 360);
  const [title, last] = await bar.evaluate((one) => {
    one.querySelector(".muted").textContent = "23 h 59 min"; // however long it took
    return [one.firstElementChild, one.lastElementChild].map((part) => part.getBoundingClientRect().toJSON());
  });
  assert.ok(title.width > 100 && last.right <= 360, `the title has ${title.width} px, the action ends at ${last.right}`);
  await actions.click();
  await page.waitForURL((url) => !url.pathname.endsWith(worker.runID));
  await server.cancel(new URL(page.url()).pathname.split("/").at(-1));

  const factory = await server.api("/factory", { body: { name: "Redelivers" } });
  const hook = await signedWebhook(server, factory.uid, "issues");
  await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "triage", prompt: "Triage it.", config: { worker_host: "one-action" }, triggers: [{ provider: "webhook", event: "received", filter: { webhook_ids: [hook.uid] } }] },
  });
  const delivered = await Worker.claim(server, { host: "one-action", start: () => hook.send("issues", { n: 1 }) });
  await delivered.tell(...paragraphs(40));
  await delivered.end();
  await page.goto(`/runs/${delivered.runID}`);
  await over(page);
  assert.equal(await bar.isVisible(), false);
  await page.evaluate(() => scrollTo(0, document.body.scrollHeight));
  await only("Redeliver");
  await actions.click();
  await page.waitForURL("**/redeliver");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a button of the bar that is pressed while news comes does what it says", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Has news all the time" });
  await worker.tell(...paragraphs(40));
  await page.goto(`/runs/${worker.runID}`);
  const bar = page.locator("#now"), pressed = bar.getByRole("button", { name: "Cancel" }), elapsed = bar.locator("[data-since]");
  await pressed.hover();
  await elapsed.evaluate((one) => { one.id = "before"; });
  await page.mouse.down();
  await worker.tell(["artifact", { artifact_type: "PULL_REQUEST", url: "https://github.com/acme/shop/pull/7" }]);
  await page.locator("#changing").getByText("Pull request #7").waitFor();
  await page.mouse.up();
  await page.getByRole("dialog", { name: "Cancel run" }).waitFor();
  await bar.locator("#before").waitFor({ state: "detached" }); // what waited is there as soon as the button is let go
  await page.getByRole("button", { name: "Keep it" }).press("Space");
  await page.getByRole("dialog", { name: "Cancel run" }).waitFor({ state: "hidden" });

  // What is pressed in the log does not move away: what comes is put in afterwards.
  await worker.tell(call("c1", "bash", { command: "make" }), output("built\n", "c1"));
  const shown = page.locator("#log .out", { hasText: "built" });
  await shown.waitFor();
  await page.locator("#log li[data-call=c1] summary").hover();
  await page.mouse.down();
  await worker.tell(says("what comes meanwhile"), ["artifact", { artifact_type: "PULL_REQUEST", url: "https://github.com/acme/shop/pull/8" }]);
  await page.locator("#changing").getByText("Pull request #8").waitFor();
  assert.equal(await page.locator("#log").getByText("what comes meanwhile").count(), 0);
  await page.mouse.up();
  await shown.waitFor({ state: "hidden" });
  await page.locator("#log").getByText("what comes meanwhile").waitFor();
  await worker.end();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a live run opens at the end of its log, a short or ended one at the top", async () => {
  const { page, context, complaints } = await member(browser, server.url, phone);
  const worker = await Worker.claim(server, { title: "Opens where it is needed" });
  await worker.tell(...paragraphs(40));
  await page.goto(`/runs/${worker.runID}`);
  await page.locator("#now").getByText("Opens where it is needed").waitFor();
  await page.waitForFunction(() => scrollY > 500);
  await inSight(page.locator("#log").getByText("paragraph 39"));
  await worker.end();
  await over(page);
  await page.goto("about:blank"); // else the browser goes back to where the reader was
  await page.goto(`/runs/${worker.runID}`);
  await over(page);
  assert.equal(await page.evaluate(() => scrollY), 0);
  await inSight(page.getByRole("heading", { level: 1 }));
  assert.equal(await page.locator("#now").isVisible(), false);
  const facts = page.locator(".facts-column"), [box, log] = await Promise.all([".facts-box", "#log"].map((one) => page.locator(one).boundingBox()));
  assert.ok(box.y + box.height <= log.y, "the details stand above the log");
  assert.equal(await facts.isVisible(), false, "the details are folded");
  await page.getByText("Details of this run").click();
  await facts.waitFor();

  const short = await Worker.claim(server, { title: "Says little" });
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(`/runs/${short.runID}`);
  await page.getByText("Live.").waitFor();
  assert.equal(await page.evaluate(() => scrollY), 0, "what stands beside the log moved the page");
  await short.end();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the tab tells the state, in its title and its icon, and follows it", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Seen from elsewhere" });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  assert.equal(await page.title(), "● Seen from elsewhere · Runs · Lineshaft");
  await worker.end("FAILED", "it broke");
  await inState(page, "Failed");
  await page.waitForFunction(() => document.title.startsWith("✗"));
  const icon = page.locator("link[rel=icon]");
  assert.match(await icon.getAttribute("href"), /icon-bad\.svg/);
  assert.equal((await page.request.get(await icon.getAttribute("href"))).status(), 200);
  await page.reload();
  assert.equal(await page.title(), "✗ Seen from elsewhere · Runs · Lineshaft");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 every call and every answer of a model has its duration, live while it lasts", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Takes its time" });
  const ago = clock();
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  await worker.tell(ago(130, call("c1", "bash", { command: "go test ./..." })));
  const tool = page.locator("#log li.tool").first();
  await tool.locator(".took", { hasText: /^2 min \d\d s$/ }).waitFor();
  await worker.tell(ago(126, result("c1", "bash", "failed", { exit_code: 1 })));
  await worker.tell(ago(124, ["usage", { model_id: "m-1", input_tokens: 5, output_tokens: 6 }]));
  await tool.locator(".took", { hasText: "4.0 s" }).waitFor();
  await worker.tell(ago(121, call("c2", "bash", { command: "sleep 99" })));
  await page.locator("#log li.tool").nth(1).locator(".took", { hasText: /^2 min \d\d s$/ }).waitFor();
  await worker.tell(ago(114, result("c2", "bash")));
  await worker.end();
  await over(page);
  const look = async () => {
    assert.deepEqual(await page.locator("#log li.tool .took").allTextContents(), ["4.0 s", "7.0 s"]);
    assert.equal(await page.locator("#log li.usage .took").textContent(), "2.0 s");
  };
  await page.reload();
  await look();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a waterfall says where the time went, and leads to its events", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Slow in places" });
  const ago = clock();
  await worker.tell(
    ago(300, call("c1", "bash", { command: "npm ci" })), ago(180, result("c1", "bash")),
    ago(170, ["usage", { model_id: "m-1", input_tokens: 5, output_tokens: 6 }]),
    ago(170, call("c2", "bash", { command: "npm test" })), ago(80, result("c2", "bash", "failed", { exit_code: 1 })),
  );
  await worker.end("FAILED", "tests fail");
  await page.goto(`/runs/${worker.runID}`);
  const slowest = page.locator(".slowest li");
  await slowest.first().waitFor();
  assert.match(await slowest.nth(0).textContent(), /npm ci.*2 min 00 s/);
  assert.match(await slowest.nth(1).textContent(), /npm test.*failed.*1 min 30 s/);
  await slowest.nth(1).getByRole("link").click();
  await page.locator("#log .here", { hasText: "npm test" }).waitFor();
  await inSight(page.locator("#log .here summary"));
  await page.getByRole("link", { name: "Time", exact: true }).click();
  await page.waitForURL("**/time");
  const row = page.getByRole("row").filter({ hasText: "m-1" });
  assert.match(await row.textContent(), /10 s/);
  const [first, second] = await page.$$eval(".waterfall rect.tool, .waterfall rect.bad", (bars) => bars.map((bar) => bar.x.baseVal.value + bar.width.baseVal.value));
  assert.ok(first < second, "the second call ends after the first");
  await page.getByRole("link", { name: /npm test/ }).click();
  await page.locator("#log .here", { hasText: "npm test" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a waterfall shows how long people were waited for", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Waits for people" });
  const answer = worker.ask({ title: "May I?", options: [{ id: "y", name: "You may", kind: "allow_once" }] });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByRole("button", { name: "You may" }).click();
  assert.equal(await answer, "y");
  await worker.end();
  await over(page);
  await page.goto(`/runs/${worker.runID}/time`);
  await page.locator(".sums div", { hasText: "Waiting for an answer" }).waitFor();
  await page.locator(".waterfall tr", { hasText: "Waiting for an answer" }).locator("rect.ask").waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 an outline names what was asked and what failed in a long log, and leads there", async () => {
  const worker = await Worker.claim(server, { title: "Long", prompt: "Begin with this" });
  await worker.tell(...Array.from({ length: 200 }, (_, n) => [call(`c${n}`, "bash", { command: `step ${n}` }), result(`c${n}`, "bash", n === 7 ? "failed" : "completed")]).flat());
  const { page, context, complaints } = await member(browser, server.url);
  const asked = [];
  page.on("request", (request) => request.url().endsWith("/outline") && asked.push(request.url()));
  await page.goto(`/runs/${worker.runID}`);
  const box = page.locator("details", { has: page.locator(":scope > summary", { hasText: "Outline" }) }).last();
  assert.deepEqual(asked, [], "it is read on demand");
  await box.locator(":scope > summary").press("Enter");
  await box.getByRole("listitem").first().waitFor();
  assert.deepEqual((await box.getByRole("listitem").allTextContents()).map((text) => text.trim()), ["Prompt Begin with this", "bash step 7 failed"]);
  assert.equal(await page.locator("#log").getByText("step 7", { exact: true }).count(), 0, "it is not in the part that the page has");
  await box.getByRole("link", { name: "bash step 7" }).click();
  await page.locator("#log .here", { hasText: "step 7" }).waitFor();
  await soundHere(page, "a run with its outline");
  assert.deepEqual(complaints, []);
  await context.close();

  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  await plain.page.goto(`/runs/${worker.runID}`);
  await plain.page.locator("summary", { hasText: "Outline" }).click();
  await plain.page.getByRole("link", { name: "What was asked and what failed" }).click();
  await plain.page.getByRole("link", { name: "bash step 7" }).click();
  await plain.page.waitForURL(/\?at=\d+#e\d+$/);
  await plain.page.getByText("step 7", { exact: true }).first().waitFor();
  await plain.context.close();
  await worker.end();
});

test("I-2 words are found in all of a long log, forward and backward, and by kind", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Five hundred steps" });
  await worker.tell(says("The needle is early"));
  for (let n = 0; n < 500; n++) {
    const failed = n === 60;
    await worker.tell(call(`c${n}`, "bash", { command: `step ${n}` }), output(`${failed ? "the NEEDLE is here" : "fine"} ${n}\n`, `c${n}`), result(`c${n}`, "bash", failed ? "failed" : "completed", failed ? { exit_code: 1 } : {}));
  }
  await worker.tell(says("No needle at the end but this"), call("e1", "edit", { path: "a.go", old: "one", new: "two" }, "files"), result("e1", "edit", "completed", {}, "files"));
  await worker.end("FAILED", "one step failed");
  await page.goto(`/runs/${worker.runID}`);
  await over(page);
  const told = page.locator("#found");
  await page.keyboard.press("/");
  await page.keyboard.type("needle");
  await told.getByText("3 found").waitFor();
  await page.keyboard.press("Enter");
  await told.getByText("1 of 3").waitFor();
  await page.locator("#log .here", { hasText: "The needle is early" }).waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#log .here", { hasText: "the NEEDLE is here 60" }).waitFor();
  await inSight(page.locator("#log .here"));
  await page.keyboard.press("Shift+Enter");
  await told.getByText("1 of 3").waitFor();

  // The failing step of 500 is two clicks away.
  await page.goto(`/runs/${worker.runID}`);
  await page.locator(".find label", { hasText: "Errors" }).click();
  await told.getByText("2 found").waitFor();
  await page.getByRole("button", { name: "Next", exact: true }).click();
  await page.locator("#log .here", { hasText: "exit code 1" }).waitFor();
  assert.match(await page.locator("#log li.tool:visible summary").first().textContent(), /step 60/);
  await page.locator(".find label", { hasText: "Edits" }).click();
  await page.goto(`/runs/${worker.runID}`);
  const shown = () => page.locator("#log > li:visible").evaluateAll((rows) => rows.map((row) => row.dataset.call ?? row.textContent));
  await page.locator(".find label", { hasText: "Edits" }).click();
  assert.deepEqual(await shown(), ["e1"]);
  await page.locator(".find label", { hasText: "Messages" }).click();
  const [said, ...others] = await shown();
  assert.match(said, /No needle at the end but this/);
  assert.deepEqual(others, []);
  await page.locator(".find label", { hasText: "Commands" }).click();
  const commands = await shown();
  assert.ok(commands.length > 50 && commands.every((call) => /^c\d+$/.test(call)), `commands are ${commands}`);
  assert.deepEqual(complaints, []);
  await context.close();

  // Without scripts the same form leads to the first place.
  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  await plain.page.goto(`/runs/${worker.runID}`);
  await plain.page.getByLabel("Find in this log").fill("NEEDLE IS HERE");
  await plain.page.getByRole("button", { name: "Next", exact: true }).click();
  await plain.page.waitForURL("**/runs/*?at=*&find=NEEDLE+IS+HERE#e*");
  await plain.page.locator(":target", { hasText: "the NEEDLE is here 60" }).waitFor();
  await plain.page.getByLabel("Find in this log").fill("nowhere at all");
  await plain.page.getByRole("button", { name: "Next", exact: true }).click();
  await plain.page.getByText("Nothing found").waitFor();
  await plain.context.close();
});

test("I-2 each event has a link that opens there, with what is folded around it open", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Linked to" });
  await worker.tell(call("c1", "bash", { command: "make" }), ...Array.from({ length: 40 }, (_, n) => output(`line ${n}\n`, "c1")), result("c1", "bash"));
  for (let n = 0; n < 4; n++) await worker.tell(...paragraphs(100));
  await worker.end();
  await page.goto(`/runs/${worker.runID}`);
  await over(page);
  const said = page.locator("#log > li.message").last(), link = said.locator(".anchor");
  const opacity = () => link.evaluate((one) => getComputedStyle(one).opacity);
  assert.equal(await opacity(), "0");
  await said.hover();
  assert.equal(await opacity(), "1", "the link shows where the pointer is");
  assert.match(await link.getAttribute("href"), new RegExp(`^/runs/${worker.runID}\\?at=(\\d+)#e\\1$`));
  const events = await server.events(worker.runID);
  const { sequence } = events.find(({ data }) => data.text === "line 20\n");
  for (const address of [`/runs/${worker.runID}?at=${sequence}#e${sequence}`, `/runs/${worker.runID}#e${sequence}`]) {
    await page.goto("about:blank");
    await page.goto(address);
    await page.locator(`#e${sequence}.here`).waitFor();
    await inSight(page.locator(`#e${sequence}`));
  }
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 a long output is cut at the end of a line, and the rest comes in its place", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Prints a lot" });
  const lines = Array.from({ length: 2000 }, (_, n) => `line ${n} of a build\n`).join("");
  await worker.tell(call("c1", "bash", { command: "make" }), output(`${lines}\u001b[31mthe last one\u001b[0m\n`, "c1"), result("c1", "bash"));
  await worker.end();
  await page.goto(`/runs/${worker.runID}`);
  await over(page);
  const tool = page.locator("li[data-call=c1]"), out = tool.locator(".out");
  if (!(await tool.locator("details").evaluate((one) => one.open))) await tool.locator("summary").click();
  assert.match(await out.evaluate((one) => one.firstChild.textContent), /line \d+ of a build\n$/);
  await out.getByRole("link", { name: /^Show .* more$/ }).click();
  await out.getByText("the last one").waitFor();
  assert.equal(await out.textContent(), `${lines}the last one\n`);
  assert.ok(await out.evaluate((one) => one === document.activeElement), "the reader stays where the rest was put");
  assert.deepEqual(complaints, []);
  await page.reload(); // and when the session has ended, the click leads to the door
  if (!(await tool.locator("details").evaluate((one) => one.open))) await tool.locator("summary").click();
  await out.getByRole("link", { name: /^Show .* more$/ }).waitFor();
  await context.clearCookies();
  await out.getByRole("link", { name: /^Show .* more$/ }).click();
  await page.waitForURL("**/login**");
  await context.close();
  const plain = await member(browser, server.url, { javaScriptEnabled: false });
  await plain.page.goto(`/runs/${worker.runID}`);
  const answer = await plain.page.goto(await plain.page.locator("a[data-load]").getAttribute("href"));
  assert.deepEqual([answer.headers()["content-type"], answer.headers()["x-content-type-options"]], ["text/plain; charset=utf-8", "nosniff"]);
  assert.equal(await plain.page.locator("pre").textContent(), `${lines}the last one\n`);
  await plain.context.close();
});

test("I-2 all edits of a run are added up by file", async () => {
  const { page, context, complaints } = await member(browser, server.url);
  const worker = await Worker.claim(server, { title: "Edits" });
  const edit = (id, path, old, next, state = "completed") => [call(id, "edit", { path, old, new: next }, "files"), result(id, "edit", state, {}, "files")];
  await worker.tell(...edit("c1", "b.go", "one", "two"), ...edit("c2", "a.go", "x", "y\nz"), ...edit("c3", "b.go", "three", "four"), ...edit("c4", "never.go", "a", "b", "failed"));
  await worker.end();
  await page.goto(`/runs/${worker.runID}`);
  await page.getByRole("link", { name: "Changes", exact: true }).click();
  await page.waitForURL("**/changes");
  await page.getByText("2 files changed, +4 −3.").waitFor();
  assert.deepEqual(await page.locator(".changed h2").allTextContents(), ["a.go", "b.go"]);
  assert.equal(await page.locator(".changed section").nth(1).locator(".diff").count(), 2);
  await page.locator(".changed section").nth(1).getByRole("link", { name: /In the log/ }).first().click();
  await page.locator("#log .here", { hasText: "b.go" }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 prompt, id, lines for a shell, commands, outputs and messages are copied with a click", async () => {
  const worker = await Worker.claim(server, { title: "To be copied", prompt: "Build *it*.\n" });
  await worker.tell(says("It is built."), call("c1", "shell", { command: "make all" }), output("first\nsecond\n", "c1"), result("c1", "shell"));
  await worker.end();
  const { page, context, complaints } = await member(browser, server.url);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`/runs/${worker.runID}`);
  const copied = async (button) => {
    const pressed = await button.elementHandle(); // it has another name afterwards
    await pressed.click();
    await page.waitForFunction((one) => one.textContent.includes("Copied"), pressed);
    return page.evaluate(() => navigator.clipboard.readText());
  };
  await page.getByRole("button", { name: "Copy…" }).click();
  const box = page.getByRole("dialog", { name: "Copy" });
  const line = (name) => box.getByRole("button", { name: `Copy ${name}`, exact: true });
  assert.equal(await copied(line("Run id")), worker.runID);
  assert.equal(await copied(line("Command")), `lineshaft runs logs -f ${worker.runID}`);
  assert.match(await copied(line("curl")), new RegExp(`^curl .* ${server.url}/api/v1/agent/runs/${worker.runID}$`));
  assert.equal(await copied(line("Prompt")), "Build *it*.\n");
  await box.getByRole("button", { name: "Close" }).click();
  const tool = page.locator("li[data-call=c1]");
  if (!(await tool.locator("details").evaluate((one) => one.open))) await tool.locator("summary").click();
  assert.equal((await copied(tool.getByRole("button", { name: "Copy command" }))).trim(), "make all");
  assert.equal(await copied(tool.getByRole("button", { name: "Copy output" })), "first\nsecond\n");
  const said = page.locator("li.message", { hasText: "It is built." });
  await said.hover();
  assert.equal((await copied(said.getByRole("button", { name: "Copy message" }))).trim(), "It is built.");
  assert.deepEqual(complaints, []);
  await context.close();
});

looks("I-2 the pages of a run break no rule of accessibility, and nothing scrolls sideways", async () => {
  const worker = await Worker.claim(server, { title: "Looked at" });
  const ago = clock();
  await worker.tell(ago(20, call("c1", "edit", { path: "deep/".repeat(40), old: "a", new: "wide ".repeat(90) }, "files")), ago(10, result("c1", "edit", "completed", {}, "files")));
  await worker.tell(ago(9, call("c2", "bash", { command: "x".repeat(300) })), ago(4, result("c2", "bash", "failed", { exit_code: 1 })));
  await worker.end("FAILED", "it broke");
  const at = `/runs/${worker.runID}`;
  await sound(browser, server.url, { log: at, changes: `${at}/changes`, time: `${at}/time`, outline: `${at}/outline` });
});
