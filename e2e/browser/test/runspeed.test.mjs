// I-2 a run that writes a thousand events a second keeps its page responsive; make soak has 100,000 of
// them, and asks for words, kinds and places all the while.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { everything, launch, member, over } from "./browser.mjs";
import { Server } from "./server.mjs";
import { Worker, call, output, result } from "./worker.mjs";

const long = Boolean(process.env.LINESHAFT_SOAK);
const perSecond = 1000, seconds = long ? 100 : everything ? 6 : 3, batch = 100;

let server, browser;
before(async () => ([server, browser] = await Promise.all([Server.start(), launch()])));
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Measures frames and long tasks, and notes every event that was put into the page. */
function measure() {
  const gaps = [], tasks = [], seen = new Set();
  let last = performance.now(), most = 0;
  const tick = (now) => {
    gaps.push(now - last);
    last = now;
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map((one) => one.duration))).observe({ type: "longtask" });
  const note = (node) => {
    if (node.nodeType !== 1) return;
    if (node.dataset.seq) seen.add(Number(node.dataset.seq));
    for (const row of node.querySelectorAll("[data-seq]")) seen.add(Number(row.dataset.seq));
  };
  const log = document.getElementById("log");
  note(log);
  new MutationObserver((changes) => {
    // What came and went within one frame was in the page, too.
    for (const change of changes) [...change.addedNodes, ...change.removedNodes].forEach(note);
    most = Math.max(most, log.querySelectorAll("[data-seq]").length);
  }).observe(log, { childList: true, subtree: true });
  window.measured = () => ({ gaps, tasks, seen: [...seen], most });
}

/** Asks as the page does, to the end of the log, and says how many milliseconds each question took. */
async function ask(last) {
  const took = {};
  const time = async (what, question) => {
    const begun = performance.now();
    await question();
    took[what] = performance.now() - begun;
  };
  const find = (query) => async () => {
    for (let after = 0; after !== undefined; ) {
      const answer = await fetch(`${location.pathname}/find?${query}&after=${after}`, { headers: { accept: "application/json" } });
      after = (await answer.json()).next;
    }
  };
  await time("a word that is nowhere", find("q=zebra"));
  await time("a word with its kind", find("q=zebra&only=commands"));
  await time("errors", find("only=errors"));
  await time("jump", () => fetch(`${location.pathname}/items?at=${Math.ceil(last / 2)}`).then((answer) => answer.text()));
  return took;
}

for (const [what, events] of [
  ["one call", (n) => [output(`line ${n} of a long build that prints as fast as it can\n`, "c1")]],
  ["many calls", (n) => (n % 3 === 0 ? [call(`m${n}`, "bash", { command: `step ${n}` })] : n % 3 === 1 ? [output(`out ${n}\n`, `m${n - 1}`)] : [result(`m${n - 2}`, "bash")])],
]) {
  test(`I-2 ${perSecond} events a second of ${what}: frames measured, nothing lost, the page stays small`, async (t) => {
    const { page, context, complaints } = await member(browser, server.url);
    const worker = await Worker.claim(server, { title: `Flood of ${what}` });
    await worker.tell(call("c1", "bash", { command: "make" }));
    await page.goto(`/runs/${worker.runID}`);
    await page.getByText("Live.").waitFor();
    await page.evaluate(measure);

    const asked = [], begun = performance.now();
    for (let n = 0; n < perSecond * seconds; n += batch) {
      await worker.tell(...Array.from({ length: batch }, (_, i) => events(n + i)[0]));
      const ahead = ((n + batch) / perSecond) * 1000 - (performance.now() - begun);
      if (ahead > 0) await new Promise((go) => setTimeout(go, ahead)); // keeps the pace, waits for nothing
      if (long && (n + batch) % (perSecond * 10) === 0) asked.push(page.evaluate(ask, n)); // while events go on
    }
    const took = (performance.now() - begun) / 1000;
    await worker.tell(result("c1", "bash"));
    await worker.end();
    await over(page);

    for (const took of await Promise.all(asked)) t.diagnostic(Object.entries(took).map(([question, ms]) => `${question} ${ms.toFixed(0)} ms`).join(", "));
    const inspector = await context.newCDPSession(page);
    await inspector.send("HeapProfiler.collectGarbage");
    const { usedSize } = await inspector.send("Runtime.getHeapUsage");
    const { gaps, tasks, seen, most } = await page.evaluate(() => window.measured());
    const all = await server.run(worker.runID), last = Math.max(...seen);
    const rate = (perSecond * seconds) / took, fps = gaps.length / (gaps.reduce((sum, gap) => sum + gap, 0) / 1000);
    const worst = Math.max(...gaps), longest = Math.max(0, ...tasks), sorted = gaps.toSorted((a, b) => a - b);
    t.diagnostic(`${rate.toFixed(0)} events/s for ${took.toFixed(1)} s: ${fps.toFixed(0)} frames/s, p95 gap ${sorted[Math.floor(sorted.length * 0.95)].toFixed(0)} ms, worst ${worst.toFixed(0)} ms, longest task ${longest.toFixed(0)} ms, at most ${most} events in the page, which holds ${(usedSize / 1e6).toFixed(1)} MB`);
    // A machine that is busy elsewhere writes fewer, an eighth when seven others want each processor, and still so many that this means something.
    assert.ok(rate > perSecond * 0.1, `the run wrote ${rate.toFixed(0)} events a second only`);
    // It also draws fewer: 60 frames a second become 3 when seven others want each processor. A page that is stuck draws none.
    assert.ok(fps > 0.5, `${fps.toFixed(1)} frames a second`);
    assert.ok(worst < 10_000, `a frame took ${worst.toFixed(0)} ms`);
    assert.ok(longest < 10_000, `a task took ${longest.toFixed(0)} ms`);
    assert.ok(usedSize < 50e6, `the page holds ${usedSize} bytes`);
    assert.ok(most <= 1000, `${most} events were in the page at once`);
    const noted = new Set(seen);
    assert.deepEqual(Array.from({ length: last }, (_, i) => i + 1).filter((n) => !noted.has(n)), [], "events are missing");
    const shown = await page.$$eval("#log [data-seq]", (rows) => rows.map((row) => Number(row.dataset.seq)));
    assert.equal(new Set(shown).size, shown.length, "events are shown twice");
    assert.equal(Math.max(...shown), last);
    assert.ok(last > perSecond * seconds && all.state === "SUCCEEDED");
    await page.getByRole("link", { name: "Show earlier" }).waitFor({ state: "attached" });
    assert.deepEqual(complaints, []);
    await context.close();
  });
}
