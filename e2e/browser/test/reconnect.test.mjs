// R-9 a page that loses its server catches up without gap or repeat.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { assertWhole, inState, launch, member, over, printed, shownLog } from "./browser.mjs";
import { startWire } from "./cutter.mjs";
import { Server, lastingAddress, shell } from "./server.mjs";

let server, browser, wire;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ listen: await lastingAddress() }), launch()]);
  wire = await startWire(server.url);
});
after(async () => {
  await browser?.close();
  await wire?.close();
  await server?.stop();
});

const lost = (page) => page.getByText("Connection lost").waitFor();

for (const [what, disturb] of [
  ["a cut connection", () => wire.cut()],
  ["a proxy that answers 503", () => wire.fail()],
]) {
  test(`R-9 after ${what} the page goes on where it was`, async () => {
    wire.mend();
    const { page, context } = await member(browser, wire.url);
    const runID = await server.startRun({
      title: "Cut",
      prompt: shell("mkfifo one two", "echo before", "read a <one", "echo during-1", "echo during-2", "read b <two", "echo afterwards"),
    });
    await page.goto(`/runs/${runID}`);
    await page.evaluate(() => (window.sameDocument = true));
    await printed(page, "before").waitFor();
    disturb();
    await lost(page);
    await server.openGate(runID, "one");
    wire.mend();
    await printed(page, "during-2").waitFor();
    await server.openGate(runID, "two");
    await printed(page, "afterwards").waitFor();
    await over(page);
    assertWhole(await shownLog(page), await server.events(runID));
    assert.equal(await page.evaluate(() => window.sameDocument), true);
    await context.close();
  });
}

test("D-5 after a restart of the server the page goes on where it was", async () => {
  const { page, context } = await member(browser, server.url);
  const runID = await server.parkRun("Restarted");
  await page.goto(`/runs/${runID}`);
  await page.getByText("Live.").waitFor();
  await page.evaluate(() => (window.sameDocument = true));
  await server.restart();
  await server.cancel(runID);
  await over(page);
  await inState(page, "Cancelled");
  assertWhole(await shownLog(page), await server.events(runID));
  assert.equal(await page.evaluate(() => window.sameDocument), true);
  await context.close();
});
