// I-2 the session page: a run followed live, continued and cancelled.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { assertWhole, launch, member, over, printed, shownLog } from "./browser.mjs";
import { Server, shell } from "./server.mjs";

let server, browser, someone;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  someone = await member(browser, server.url);
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

const state = (page) => page.locator("#state").textContent();

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
  assert.equal(await state(page), "INPROGRESS");
  assert.equal(await printed(page, "line-3").count(), 0);
  await server.openGate(runID, "two", "third");
  await printed(page, "line-3 third").waitFor();
  await over(page);
  assert.equal(await state(page), "SUCCEEDED");
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  assert.equal(await page.getByRole("button", { name: "Cancel run" }).count(), 0);

  const live = await shownLog(page);
  const status = await page.locator("#status").textContent();
  assertWhole(live, await server.events(runID));
  await page.reload();
  assert.deepEqual(await shownLog(page), live);
  assert.equal(await state(page), "SUCCEEDED");
  assert.equal(await page.locator("#status").textContent(), status);
  assert.equal(await page.getByText("The run has ended.").count(), 1);
  assert.deepEqual(complaints, []);
});

test("R-6 the follow-up box sends another turn to a run that is live", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({ title: "Two turns", prompt: shell("mkfifo gate", "echo turn-1", "read a <gate") });
  await page.goto(`/runs/${runID}`);
  await printed(page, "turn-1").waitFor();
  await page.getByLabel("Follow up").fill(shell("echo turn-2"));
  await page.getByRole("button", { name: "Send" }).click();
  await page.waitForURL(`**/runs/${runID}`);
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
  assert.equal(await state(page), "SUCCEEDED");
  assertWhole(await shownLog(page), await server.events(runID));
  assert.deepEqual(complaints, []);
});

test("R-7 the cancel button ends the run", async () => {
  const { page, complaints } = someone;
  const runID = await server.startRun({ title: "To be cancelled", prompt: shell("mkfifo gate", "echo running", "read a <gate") });
  await page.goto(`/runs/${runID}`);
  await printed(page, "running").waitFor();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await over(page);
  assert.equal(await state(page), "CANCELLED");
  assert.equal(await page.getByRole("button", { name: "Cancel run" }).count(), 0);
  assert.equal((await server.run(runID)).state, "CANCELLED");
  assert.deepEqual(complaints, []);
});

test("I-2 the page says that it is live before the run says anything", async () => {
  const { page, complaints } = someone;
  const runID = await server.parkRun("Silent");
  await page.goto(`/runs/${runID}`);
  await page.getByText("Live.").waitFor({ timeout: 10_000 }); // the first heartbeat comes after 15 s
  await server.cancel(runID);
  await over(page);
  assert.deepEqual(complaints, []);
});

test("I-2 a cancel from elsewhere shows on an open page", async () => {
  const { page, complaints } = someone;
  const runID = await server.parkRun("Cancelled elsewhere");
  await page.goto(`/runs/${runID}`);
  assert.equal(await state(page), "QUEUED");
  await server.cancel(runID);
  await over(page);
  assert.equal(await state(page), "CANCELLED");
  assert.equal(await page.getByRole("button", { name: "Cancel run" }).count(), 0);
  assert.deepEqual(complaints, []);
});

test("I-2 a log longer than a page comes whole", async () => {
  const { page, complaints } = someone;
  // Each block makes three events, and the page itself carries 500.
  const runID = await server.startRun({ title: "Long log", prompt: Array.from({ length: 180 }, (_, n) => shell(`echo row-${n}`)).join("\n") });
  await server.ended(runID);
  const events = await server.events(runID);
  assert.ok(events.length > 540, `${events.length} events`);
  await page.goto(`/runs/${runID}`);
  await over(page);
  assertWhole(await shownLog(page), events);
  assert.deepEqual(complaints, []);
});
