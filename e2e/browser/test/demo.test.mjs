// I-1 lineshaft demo: a server full of made-up data in seconds, and nothing left of it afterwards.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { onceOn, launch, member } from "./browser.mjs";
import { patience, required } from "./server.mjs";

/** Starts the demo and waits until it says where it is and with which key. */
async function startDemo(temporary) {
  const began = Date.now();
  const child = spawn(required("LINESHAFT_BIN"), ["demo", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, TMPDIR: temporary } });
  const told = {};
  for await (const line of createInterface({ input: child.stdout })) {
    told.url ??= /ready at (http\S+)/.exec(line)?.[1];
    told.key ??= /Sign in with\s+(ls_\S+)/.exec(line)?.[1];
    if (told.url && told.key) break;
  }
  return { child, took: Date.now() - began, ...told };
}

onceOn("sqlite", "I-1 the demo fills every list, goes on by itself, says what it is, and leaves nothing behind", async (t) => {
  const temporary = await mkdtemp(path.join(tmpdir(), "lineshaft-page-")); // another demo of this machine is not looked at
  const { child, took, url, key } = await startDemo(temporary);
  const browser = await launch();
  try {
    t.diagnostic(`ready after ${took} ms`);
    assert.ok(took < patience, `ready after ${took} ms`);
    assert.match(url, /^http:\/\/127\.0\.0\.1:/);
    const { page, complaints } = await member(browser, url, { key });
    for (const address of ["/", "/runs", "/factories", "/automations", "/agents", "/webhooks", "/schedules", "/environments", "/secrets", "/workers", "/keys", "/audit"]) {
      await page.goto(address);
      await page.getByText("This is a demo").waitFor();
      assert.ok((await page.locator("main table tbody tr").count()) > 0, `${address} is empty`);
    }
    await page.goto("/runs");
    const states = await page.locator("#list td.state").allTextContents();
    for (const [state, least] of Object.entries({ "In progress": 3, Blocked: 1, Failed: 2, Succeeded: 3, Queued: 1 })) {
      assert.ok(states.filter((one) => one === state).length >= least, `${state}: ${states}`);
    }
    await page.goto("/");
    assert.match(await page.locator(".numbers .card", { hasText: "Spent today" }).textContent(), /\$[0-9.]*[1-9]/);
    assert.ok((await page.locator(".attention li").count()) >= 4);
    await page.goto("/webhooks");
    await page.getByRole("link", { name: "github", exact: true }).first().click();
    const results = await page.locator(".deliveries summary .tag").allTextContents();
    for (const wanted of ["Started", "Not matched", "Duplicate", "Rejected (auth)", "Rejected (invalid JSON)"]) assert.ok(results.includes(wanted), `${wanted}: ${results}`);
    // A run that is live says more, and one that asks takes the answer.
    await page.goto("/runs");
    await page.getByRole("link", { name: "Clean up feature flags" }).click();
    const last = await page.locator("#log").evaluate((log) => Number(log.dataset.after));
    await page.waitForFunction((seen) => Number(document.getElementById("log").dataset.shown ?? 0) > seen, last);
    await page.goto("/runs?state=BLOCKED");
    await page.getByRole("link", { name: /^Deploy the preview/ }).click();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.locator("#state").getByText("Succeeded").waitFor();
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
    child.kill("SIGTERM");
    await once(child, "exit", { signal: AbortSignal.timeout(patience) });
  }
  assert.equal(child.exitCode, 0);
  assert.deepEqual(await readdir(temporary), []);
  await rmdir(temporary);
});
