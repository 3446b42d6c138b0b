// I-2 the page of a run: what agents say and do, and what people can do about it.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { assertWhole, cancelRun, inState, launch, looks, member, over, printed, shownLog, sound } from "./browser.mjs";
import { Server, shell } from "./server.mjs";
import { Worker, call, output, result, says } from "./worker.mjs";

let server, browser, someone;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  someone = await member(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const entry = (page, kind) => page.locator(`#log > li.${kind}`);

test("I-2 what an agent says and does is shown live as it is after a reload", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Everything", prompt: "Look at **this**" });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  await worker.tell(["thought", { text: "I wonder" }], says("# Found\n\n- a `bug`\n\nSee [the docs](https://example.com/x) and ![a picture](https://example.com/p.png)"));
  await worker.tell(["plan", { steps: [{ text: "read", state: "completed" }, { text: "mend", state: "in_progress" }, { text: "test", state: "pending" }] }]);
  await worker.tell(call("c1", "edit", { path: "a.go", old: "one\ntwo\nthree", new: "one\n2\nthree" }, "files"));
  await worker.tell(result("c1", "edit", "completed", { text: "Replaced 1 in a.go." }, "files"));
  await worker.tell(call("c2", "bash", { command: "make test" }));
  await worker.tell(output("first\n", "c2"));
  await worker.tell(output("second\n", "c2"), output("careful\n", "c2", "stderr"), ["notice", { level: "warning", text: "low on space" }]);
  await worker.tell(result("c2", "bash", "failed", { exit_code: 2 }));
  await worker.tell(call("c3", "bash", { command: "rm -rf /" }), result("c3", "bash", "denied", {}), ["usage", { model_id: "m-1", input_tokens: 1200, output_tokens: 34, cost_micros: 5600 }]);
  await worker.tell(["message", { role: "assistant", text: "<script>alert(1)</script> [x](javascript:alert(1)) done" }]);
  await worker.end();
  await over(page);

  const look = async () => {
    assert.equal(await entry(page, "tool").count(), 3);
    const [edit, make, denied] = await entry(page, "tool").all();
    assert.equal(await edit.locator(".diff .del").textContent(), "-two\n");
    assert.equal(await edit.locator(".diff .add").textContent(), "+2\n");
    assert.equal(await make.locator(".tag").textContent(), "failed");
    assert.deepEqual(await make.locator(".out").allTextContents(), ["first\n", "second\n", "careful\n"]);
    assert.match(await make.locator(".result").textContent(), /exit code 2/);
    assert.equal(await denied.locator(".tag").textContent(), "denied");
    assert.deepEqual(await entry(page, "plan").locator("li").allTextContents(), ["done: read", "in progress: mend", "to do: test"]);
    assert.equal(await entry(page, "message").first().locator(".md strong").textContent(), "this");
    const link = entry(page, "message").locator("a", { hasText: "the docs" });
    assert.deepEqual([await link.getAttribute("href"), await link.getAttribute("rel")], ["https://example.com/x", "noopener noreferrer nofollow"]);
    assert.equal(await page.locator("#log img, #log script, #log a[href^=javascript]").count(), 0);
    assert.match(await entry(page, "message").last().textContent(), /<script>alert\(1\)<\/script>/);
    assert.equal(await entry(page, "thought").locator(".md").isVisible(), false);
    assert.match(await page.locator(".models").textContent(), /m-1.*1.200.*34.*\$0\.0056/);
    return shownLog(page);
  };
  const live = await look();
  assertWhole(live, await server.events(worker.runID));
  await page.reload();
  await over(page);
  assert.deepEqual(await look(), live);
  await entry(page, "thought").locator("summary").click();
  await entry(page, "thought").locator(".md").waitFor();
  assert.deepEqual(complaints, []);
});

test("X-7 a question is answered with its buttons, and only while it is open", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Asks" });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  const options = [{ id: "allow", name: "Allow", kind: "allow_once" }, { id: "no", name: "Reject", kind: "reject_once" }];
  await worker.tell(call("c1", "bash", { command: "git push" }));
  const answer = worker.ask({ tool_call_id: "c1", title: "bash: git push", options });
  await page.getByRole("button", { name: "Allow", exact: true }).click();
  assert.equal(await answer, "allow");
  await page.getByText("Your message was sent.").waitFor();
  await worker.tell(["permission_request", { tool_call_id: "c1", title: "bash: git push", decision: "allowed" }], result("c1", "bash"));
  await page.locator(".question.decided").waitFor();
  await page.getByRole("button", { name: "Allow", exact: true }).waitFor({ state: "detached" });
  await inState(page, "In progress");

  // A viewer sees the question and no buttons, and cannot answer by hand.
  const second = worker.ask({ title: "May I?", options });
  await page.getByRole("button", { name: "Reject" }).waitFor();
  const viewer = await member(browser, server.url, { key: await server.keyFor("viewer") });
  await viewer.page.goto(`/runs/${worker.runID}`);
  await viewer.page.getByText("May I?").waitFor();
  assert.equal(await viewer.page.locator("main form:not([role=search]), main .danger").count(), 0);
  for (const action of ["followups", "interrupt", "cancel", "rerun"]) {
    const status = await viewer.page.evaluate((url) => fetch(url, { method: "POST", body: new URLSearchParams({ message: "allow" }) }).then((r) => r.status), `/runs/${worker.runID}/${action}`);
    assert.equal(status, 403, action);
  }
  await viewer.context.close();
  await page.getByRole("button", { name: "Reject" }).click();
  assert.equal(await second, "no");
  await worker.end();
  await over(page);
  assert.deepEqual(complaints, []);
});

test("R-7 interrupt, cancel with what it started, and run again", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Parent" });
  const child = await server.startRun({ prompt: "wait", title: "Child", parent_run_id: worker.runID, config: { worker_host: "never-connected" } });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByRole("link", { name: "Child" }).waitFor();
  const told = worker.directive();
  await page.getByRole("button", { name: "Interrupt" }).click();
  assert.equal(await told, "interrupt");
  await page.getByText("The agent was asked to stop").waitFor();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByRole("button", { name: "Keep it" }).click();
  assert.equal((await server.run(worker.runID)).state, "INPROGRESS");
  await page.getByRole("button", { name: "Cancel run" }).click();
  assert.ok(await page.getByLabel("Also cancel the runs that it started").isChecked());
  await page.getByRole("button", { name: "Yes, cancel it" }).click();
  await over(page);
  await page.getByRole("button", { name: "Interrupt" }).waitFor({ state: "detached" });
  assert.equal((await server.ended(child)).state, "CANCELLED");
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => !url.pathname.endsWith(worker.runID));
  await page.getByRole("heading", { level: 1, name: "Parent", exact: true }).waitFor();
  await cancelRun(page);
  await over(page);
  const again = new URL(page.url()).pathname;
  assert.equal((await server.run(again.split("/").at(-1))).source, "WEB_APP");
  await page.locator(".facts dt", { hasText: "Rerun of" }).waitFor();
  await page.locator(`.facts a[href="/runs/${worker.runID}"]`).click(); // each attempt leads to the other
  await page.waitForURL(`**/runs/${worker.runID}`);
  await page.locator(".facts dt", { hasText: "Attempt 2" }).waitFor();
  await page.locator(`.facts a[href="${again}"]`).click();
  await page.waitForURL(`**${again}`);
  assert.deepEqual(complaints, []);
});

test("R-13 a run that is run again keeps its factory, its agent and its automation", async () => {
  const { page, complaints } = someone;
  const { uid } = await server.api("/factory", { body: { name: "Runs again" } });
  const agent = await server.api("/agent/identities", { body: { name: "mender", factory_uid: uid, prompt: "Mend." } });
  const automation = await server.api(`/factory/${uid}/automations`, {
    body: {
      name: "afterwards", title: "Afterwards", agent: "mender", prompt: shell("exit 3"),
      triggers: [{ provider: "run", event: "finished", filter: { agents: ["foreman"] } }],
    },
  });
  const foreman = (await server.api(`/agent/identities?factory_uid=${uid}`)).agents.find(({ name }) => name === "foreman");
  await server.ended(await server.startRun({ title: "Before", prompt: shell("true"), agent_identity_uid: foreman.uid }));
  await page.goto(`/runs?automation=${automation.uid}`);
  await page.getByRole("link", { name: "Afterwards", exact: true }).click(); // which comes by itself
  await over(page);
  const first = page.url();
  await page.getByRole("button", { name: "Run again" }).click();
  await page.waitForURL((url) => url.href !== first);
  for (const href of [`/factories/${uid}`, `/agents/${agent.uid}`, `/factories/${uid}/automations/${automation.uid}`]) {
    await page.locator(`.facts a[href="${href}"]`).waitFor();
  }
  await over(page);
  assert.deepEqual(complaints, []);
});

test("I-2 the reader who scrolls up is left there, and a button leads back to the end", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Scrolled" });
  await worker.tell(...Array.from({ length: 60 }, (_, n) => says(`paragraph ${n}`)));
  await page.goto(`/runs/${worker.runID}`);
  await page.locator("#log").getByText("paragraph 59").waitFor();
  await page.waitForFunction(() => innerHeight + scrollY >= document.documentElement.scrollHeight - 60);
  assert.equal(await page.locator("#jump").isVisible(), false);
  // What grows below the log does not count as scrolling up.
  await page.evaluate(() => {
    const below = document.createElement("p");
    below.className = "copy";
    below.append(..."x".repeat(60).split("").flatMap((x) => [x, document.createElement("br")]));
    document.getElementById("log").after(below);
    scrollBy({ top: 1, behavior: "instant" });
    return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(below.remove()))));
  });
  assert.equal(await page.locator("#jump").isVisible(), false);
  // Who has only begun to scroll up is left there, too, also if the page gets shorter in that moment.
  await page.evaluate(() => {
    const below = document.createElement("p");
    below.style.height = "300px";
    document.getElementById("log").after(below);
    scrollBy({ top: 200, behavior: "instant" });
    const frames = (n, then) => requestAnimationFrame(() => n > 1 ? frames(n - 1, then) : then());
    return new Promise((done) => frames(2, () => {
      dispatchEvent(new WheelEvent("wheel", { deltaY: -20 }));
      below.remove();
      frames(2, done);
    }));
  });
  assert.equal(await page.locator("#jump").isVisible(), true);
  await page.locator("#jump").click();
  assert.equal(await page.locator("#jump").isVisible(), false);
  const end = await page.evaluate(() => scrollY);
  await page.mouse.wheel(0, -20);
  await page.waitForFunction((y) => scrollY < y, end);
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  assert.equal(await page.locator("#jump").isVisible(), true);
  await page.mouse.wheel(0, -1500);
  await page.locator("#jump").waitFor();
  const before = await page.evaluate(() => scrollY);
  await worker.tell(says("paragraph 60"));
  await page.locator("#log").getByText("paragraph 60").waitFor({ state: "attached" });
  assert.ok((await page.evaluate(() => scrollY)) <= before + 1, "the page moved away from the reader");
  await page.locator("#jump").click();
  await page.waitForFunction(() => innerHeight + scrollY >= document.documentElement.scrollHeight - 60);
  await worker.tell(says("paragraph 61"));
  await page.locator("#log").getByText("paragraph 61").waitFor();
  await page.waitForFunction(() => innerHeight + scrollY >= document.documentElement.scrollHeight - 60);
  await worker.end();
  await over(page);
  assert.deepEqual(complaints, []);
});

/** Draws nothing more of what comes, as on a busy machine, until drawAgain is called in the page. */
const holdDrawing = (page) =>
  page.evaluate(() => {
    const held = [], { requestAnimationFrame: real } = window;
    window.requestAnimationFrame = (draw) => held.push(draw);
    window.drawAgain = () => {
      window.requestAnimationFrame = real;
      for (const draw of held) real(draw);
    };
  });

test("I-2 the end is told when all of the run is in the page, however slow that is", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Drawn late" });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  await holdDrawing(page);
  await page.evaluate(() => {
    const live = document.getElementById("live");
    new MutationObserver(() => {
      if (live.textContent.includes("ended")) window.lastAtEnd ??= document.querySelector("#log > li:last-child").textContent.trim().slice(-60);
    }).observe(live, { childList: true, characterData: true, subtree: true });
  });
  for (let n = 0; n < 20; n++) await worker.tell(says(`${n} ${"long ".repeat(8000)}`));
  await worker.end();
  await inState(page, "Succeeded"); // which is told just before the end
  await page.evaluate(() => window.drawAgain());
  await over(page);
  assert.match(await page.evaluate(() => window.lastAtEnd), /succeeded/i);
  assert.deepEqual(complaints, []);
});

test("I-2 the end is not told to a reader whose page has paused before it", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Ends unseen" });
  for (let n = 0; n < 6; n++) await worker.tell(says(`${n} ${"long ".repeat(4000)}`));
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  await page.mouse.move(400, 400);
  await page.mouse.wheel(0, -3000);
  await page.locator("#jump").waitFor();
  await holdDrawing(page);
  for (let n = 0; n < 45; n++) await worker.tell(says(`${n} ${"long ".repeat(8000)}`));
  await worker.end();
  await inState(page, "Succeeded");
  await page.evaluate(() => window.drawAgain());
  await page.getByText("Paused while you read.").waitFor();
  await page.locator("#jump").click();
  await over(page);
  assert.match(await page.locator("#log > li:last-child").textContent(), /succeeded/i);
  assert.deepEqual(complaints, []);
});

test("S-4 lines of 5 MB are bounded in the page, and the whole can be saved as text", async () => {
  const { page, complaints } = someone;
  const worker = await Worker.claim(server, { title: "Long line" });
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Live.").waitFor();
  const piece = "\u202e<b>x</b>".repeat(6000); // 72 KB each
  await worker.tell(call("c1", "bash", { command: "cat big" }));
  for (let sent = 0; sent < 5_000_000; sent += 10 * piece.length) await worker.tell(...Array.from({ length: 10 }, () => output(piece, "c1")));
  await worker.tell(["message", { role: "assistant", text: "y".repeat(900_000) }], result("c1", "bash"));
  await worker.end();
  await over(page);
  const size = await page.evaluate(() => document.documentElement.innerHTML.length);
  assert.ok(size < 2_500_000, `the page holds ${size} characters`);
  const rest = page.getByRole("link", { name: /download the whole text/ }).last();
  const download = await Promise.all([page.waitForEvent("download"), rest.press("Enter")]);
  assert.match(download[0].suggestedFilename(), /\.txt$/);
  const headers = await page.evaluate(async (url) => Object.fromEntries((await fetch(url)).headers), `/runs/${worker.runID}/log`);
  assert.match(headers["content-disposition"], /^attachment/);
  assert.equal(headers["x-content-type-options"], "nosniff");
  assert.match(headers["content-security-policy"], /sandbox/);
  assert.match(headers["content-type"], /^text\/plain/);
  assert.deepEqual(complaints, []);
});

test("I-2 with the keyboard alone: open a call, follow up, cancel", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({ title: "By keyboard", prompt: shell("mkfifo gate", "echo typed", "read a <gate") });
  await page.goto(`/runs/${runID}`);
  await printed(page, "typed").waitFor();
  const tabTo = async (locator) => {
    for (let stops = 0; stops < 60; stops++) {
      await page.keyboard.press("Tab");
      if (await locator.evaluate((one) => one === document.activeElement)) return;
    }
    assert.fail(`no Tab leads to ${locator}`);
  };
  await tabTo(page.locator("#log summary").first());
  await page.keyboard.press("Enter");
  await printed(page, "typed").waitFor({ state: "hidden" });
  await page.keyboard.press("Enter");
  await printed(page, "typed").waitFor();
  await tabTo(page.getByRole("button", { name: "Cancel run" }));
  await tabTo(page.getByLabel("Follow up"));
  await page.keyboard.type("and then");
  await page.keyboard.press("Control+Enter");
  await page.getByText("Your message was sent.").waitFor();
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Enter");
  await tabTo(page.getByRole("button", { name: "Yes, cancel it" }));
  await page.keyboard.press("Enter");
  await over(page);
  await inState(page, "Cancelled");
  assert.deepEqual(complaints, []);
});

test("without JavaScript the page can be read, reloaded and used", async () => {
  const { page, context } = await member(browser, server.url, { javaScriptEnabled: false });
  const worker = await Worker.claim(server, { title: "Plain" });
  await worker.tell(call("c1", "bash", { command: "ls" }), output("here\n", "c1"));
  await page.goto(`/runs/${worker.runID}`);
  await printed(page, "here").waitFor();
  await page.getByLabel("Follow up").fill("more of it");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Your message was sent.").waitFor();
  await page.locator(".message.user", { hasText: "more of it" }).waitFor();
  await cancelRun(page);
  await page.getByText("The run was cancelled.").waitFor();
  await inState(page, "Cancelled");
  await context.close();
});

looks("I-2 runs of every kind: no rule of accessibility is broken, nothing scrolls sideways", async () => {
  const worker = await Worker.claim(server, { title: "Wide ".repeat(20) });
  await worker.tell(says(`| a | b |\n|---|---|\n| ${"long".repeat(60)} | c |\n\n- [x] done\n- [ ] open\n\n> quoted`), ["thought", { text: "hm" }]);
  await worker.tell(call("c1", "edit", { path: "deep/".repeat(40), old: "a\nb", new: `a\n${"wide ".repeat(90)}` }, "files"), result("c1", "edit", "completed", {}, "files"));
  await worker.tell(call("c2", "bash", { command: "x".repeat(300) }), output("unbroken".repeat(90), "c2"), output("bad\n", "c2", "stderr"), result("c2", "bash", "failed", { exit_code: 1 }));
  await worker.tell(["plan", { steps: [{ text: "one", state: "completed" }, { text: "two", state: "in_progress" }] }], ["notice", { level: "error", text: "careful" }], ["usage", { model_id: "m", input_tokens: 5, output_tokens: 6 }]);
  const question = worker.ask({ title: "May I?", options: [{ id: "y", name: "Yes", kind: "allow_once" }, { id: "n", name: "No", kind: "reject_once" }] });
  const bad = await server.startRun({ title: "Fails", prompt: shell("echo trying", "exit 3") });
  await server.ended(bad);
  const queued = await server.parkRun("Waits");
  await sound(browser, server.url, { asks: `/runs/${worker.runID}`, failed: `/runs/${bad}`, queued: `/runs/${queued}` });
  await server.cancel(queued);
  await server.cancel(worker.runID);
  assert.equal(await question, undefined);
});
