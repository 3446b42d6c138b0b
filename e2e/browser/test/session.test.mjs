// I-2 the session page: a run followed live, continued and cancelled.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { assertWhole, cancelRun, inState, launch, member, over, printed, shownLog } from "./browser.mjs";
import { Server, shell } from "./server.mjs";
import { Worker, call, output, result } from "./worker.mjs";

let server, browser, someone;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  someone = await member(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

test("I-2 lines appear live, without a reload, and the end is told", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({
    title: "Live run",
    prompt: shell("mkfifo one two", "echo line-1", "read a <one", 'echo "line-2 $a"', "read b <two", 'echo "line-3 $b"'),
  });
  await page.goto(`/runs/${runID}`);
  await page.evaluate(() => (window.sameDocument = true));
  await printed(page, "line-1").waitFor();
  assert.equal(await printed(page, "line-2").count(), 0);
  await server.openGate(runID, "one", "second");
  await printed(page, "line-2 second").waitFor();
  await inState(page, "In progress");
  assert.equal(await printed(page, "line-3").count(), 0);
  await server.openGate(runID, "two", "third");
  await printed(page, "line-3 third").waitFor();
  await over(page);
  await inState(page, "Succeeded");
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  await page.getByRole("button", { name: "Cancel run" }).waitFor({ state: "detached" });

  // Each state is a line, and begins where messages do.
  const seen = await page.$$eval("#log > .state .rule b, #log > .message .by", (all) =>
    all.filter((one) => one.checkVisibility()).map((one) => one.getBoundingClientRect().left));
  assert.ok(seen.length > 3 && Math.max(...seen) - Math.min(...seen) < 20, `states and messages begin at ${seen}`);
  const heights = await page.$$eval("#log > .state", (all) => all.map((one) => one.offsetHeight));
  assert.ok(Math.max(...heights) < 30, `states are ${heights} px high`);

  const live = await shownLog(page);
  const status = await page.locator("#status").textContent();
  assertWhole(live, await server.events(runID));
  await page.reload();
  assert.deepEqual(await shownLog(page), live);
  await inState(page, "Succeeded");
  assert.equal(await page.locator("#status").textContent(), status);
  await over(page);
  assert.deepEqual(complaints, []);
});

test("R-6 the follow-up box sends another turn to a run that is live", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({ title: "Two turns", prompt: shell("mkfifo gate", "echo turn-1", "read a <gate") });
  await page.goto(`/runs/${runID}`);
  await printed(page, "turn-1").waitFor();
  await page.getByLabel("Follow up").fill(shell("echo turn-2"));
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("Your message was sent.").waitFor();
  assert.equal(await page.getByLabel("Follow up").inputValue(), "");
  await server.openGate(runID);
  await printed(page, "turn-2").waitFor();
  await over(page);
  assertWhole(await shownLog(page), await server.events(runID));
  assert.deepEqual(complaints, []);
});

test("R-6 the follow-up box continues a run that has ended", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({ title: "Continued", prompt: shell("echo before") });
  await server.ended(runID);
  await page.goto(`/runs/${runID}`);
  await over(page);
  await page.getByLabel("Follow up").fill(shell("echo afterwards"));
  await page.getByRole("button", { name: "Send" }).click();
  await printed(page, "afterwards").waitFor();
  await over(page);
  await inState(page, "Succeeded");
  assertWhole(await shownLog(page), await server.events(runID));
  assert.deepEqual(complaints, []);
});

test("R-7 the cancel button ends the run", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({ title: "To be cancelled", prompt: shell("mkfifo gate", "echo running", "read a <gate") });
  await page.goto(`/runs/${runID}`);
  await printed(page, "running").waitFor();
  await cancelRun(page);
  await over(page);
  await inState(page, "Cancelled");
  await page.getByRole("button", { name: "Cancel run" }).waitFor({ state: "detached" });
  assert.equal((await server.run(runID)).state, "CANCELLED");
  assert.deepEqual(complaints, []);
});

test("I-2 the page says that it is live before the run says anything", async () => {
  const { page, complaints } = someone;
  const runID = await server.parkRun("Silent");
  await page.goto(`/runs/${runID}`);
  await page.getByText("Live.").waitFor({ timeout: 14_000 }); // the first heartbeat comes after 15 s
  await server.cancel(runID);
  await over(page);
  assert.deepEqual(complaints, []);
});

test("I-2 a cancel from elsewhere shows on an open page", async () => {
  const { page, complaints } = someone;
  const runID = await server.parkRun("Cancelled elsewhere");
  await page.goto(`/runs/${runID}`);
  await inState(page, "Queued");
  await server.cancel(runID);
  await over(page);
  await inState(page, "Cancelled");
  await page.getByRole("button", { name: "Cancel run" }).waitFor({ state: "detached" });
  assert.deepEqual(complaints, []);
});

test("I-2 a log longer than a page comes whole", async () => {
  const { page, complaints } = someone;
  // The page itself carries 300 events: the newest.
  const worker = await Worker.claim(server, { title: "Long log" });
  for (let n = 0; n < 180; n += 60) {
    const blocks = Array.from({ length: 60 }, (_, i) => n + i);
    await worker.tell(...blocks.flatMap((i) => [call(`c${i}`, "run_command", { command: `echo row-${i}` }), output(`row-${i}\n`, `c${i}`), result(`c${i}`, "run_command")]));
  }
  await worker.end();
  const { runID } = worker;
  const events = await server.events(runID);
  assert.ok(events.length > 540, `${events.length} events`);
  await page.goto(`/runs/${runID}`);
  await over(page);
  const newest = await shownLog(page);
  assert.equal(newest.at(-1).sequence, events.length);
  assert.ok(newest.length <= 300, `the page begins with ${newest.length} events`);
  const earlier = page.getByRole("link", { name: "Show earlier" });
  for (let before = newest[0].sequence; before > 1; before = (await shownLog(page))[0].sequence) {
    await earlier.click();
    await page.waitForFunction((first) => Number(document.querySelector("#log [data-seq]").dataset.seq) < first, before);
  }
  assert.equal(await earlier.count(), 0);
  assertWhole(await shownLog(page), events);
  // The same without scripts: each part is a page of its own.
  await page.goto(`/runs/${runID}?before=${newest[0].sequence}`);
  assert.equal((await shownLog(page)).at(-1).sequence, newest[0].sequence - 1);
  assert.deepEqual(complaints, []);
});
