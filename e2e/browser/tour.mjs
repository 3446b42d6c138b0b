// The short film in README.md: a webhook arrives, the delivery says why it started a run, the
// run works, and its pull request is there. Start it with e2e/browser/screens tour.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { animate } from "./png.mjs";
import { member } from "./test/browser.mjs";
import { signed } from "./test/sender.mjs";
import { Worker, call, output, result, says } from "./test/worker.mjs";

const size = { width: 1120, height: 820 };

const issue = {
  action: "labeled",
  issue: { number: 816, title: "Invoice has the wrong tax for Norway", state: "open", labels: [{ name: "bug" }], user: { login: "ingrid" }, html_url: "https://github.com/millrace/shop/issues/816" },
  label: { name: "bug" },
  repository: { full_name: "millrace/shop", name: "shop", owner: { login: "millrace" }, private: true },
  sender: { login: "ingrid" },
};

const plan = (done) => ["plan", { steps: ["Write a test that fails", "Use the rate of the country of delivery", "Run all tests", "Open a pull request"]
  .map((text, i) => ({ text, state: i < done ? "completed" : i === done ? "in_progress" : "pending" })) }];

/** What the agent reports, and the words that a page shows then. */
const work = [
  { seen: "Norway has", events: [says("Norway has 25 % on shipping, and the invoice takes the shop's own 19 %. I write a test for it first."), plan(0)] },
  { seen: "1 failed", events: [call("c1", "bash", { command: "npm test -- invoice" }), output(" FAIL  src/invoice/tax.test.ts > ships to Norway\n   expected 19 to be 25\n\n Tests  1 failed | 37 passed (38)\n", "c1"), result("c1", "bash", "failed", { exit_code: 1 }), plan(1)] },
  { seen: "src/invoice/tax.ts", events: [call("c2", "edit", { path: "src/invoice/tax.ts", old: "  return rates[shop.country];", new: "  return rates[order.deliverTo.country];" }, "files"), result("c2", "edit", "completed", { text: "Replaced 1 in src/invoice/tax.ts." }, "files"), plan(2)] },
  { seen: "413 passed", events: [call("c3", "bash", { command: "npm test" }), output(" Tests  413 passed (413)\n Duration  9.48s\n", "c3"), result("c3", "bash", "completed", { exit_code: 0 }), ["usage", { model_id: "claude-sonnet-4-5", input_tokens: 51_030, output_tokens: 4_120, cost_micros: 214_890 }], plan(3)] },
];
const last = [plan(4), ["artifact", { type: "PULL_REQUEST", url: "https://github.com/millrace/shop/pull/817" }], says("Done: [#817](https://github.com/millrace/shop/pull/817) takes the rate of the country of delivery.")];

/** Writes what happens into a bar at the bottom, and marks what is clicked next. */
function explain([text, selector]) {
  document.querySelector("#film")?.remove();
  document.querySelectorAll(".film").forEach((old) => { old.style.outline = ""; });
  const bar = document.createElement("div");
  bar.id = "film";
  bar.textContent = text;
  bar.style.cssText = "position:fixed;inset:auto 0 0 0;padding:14px 24px;background:#111827;color:#fff;font:600 18px system-ui,sans-serif;z-index:9999";
  document.body.append(bar);
  const next = selector && document.querySelector(selector);
  if (next) {
    next.classList.add("film");
    next.style.outline = "3px solid #f59e0b";
    next.style.outlineOffset = "3px";
  }
}

/** Takes the film of an issue that becomes a pull request. The webhook gets a new secret: nobody knows the one that the demo made. */
export async function tour(browser, server, folder) {
  const { factories } = await server.api("/factory"), shop = factories.find((one) => one.name === "Web shop").uid;
  const { webhooks } = await server.api(`/factory/${shop}/webhooks`), github = `/factory/${shop}/webhooks/${webhooks.find((one) => one.name === "github").uid}`;
  const send = signed(await server.api(`${github}/rotate`, { body: {} }));
  const { page, context } = await member(browser, server.url, { colorScheme: "light", viewport: size, key: server.key });
  const frames = [];
  const shoot = async (ms, text, selector) => {
    await page.evaluate(explain, [text, selector]);
    frames.push({ png: await page.screenshot({ animations: "disabled" }), ms });
  };
  await page.goto("/deliveries");
  await shoot(1500, "1  Webhooks arrive from GitHub, Stripe, your CI …");
  const worker = await Worker.claim(server, { host: "build-01", start: () => send("issues", issue) });
  const [delivery] = (await server.api(`${github}/deliveries`)).deliveries;
  await page.goto("/deliveries");
  await page.getByText("Invoice has the wrong tax").first().waitFor();
  await shoot(1800, "1  Someone labels an issue “bug”: a signed delivery starts a run", ".delivery > summary .tag");
  await page.goto(`${github.replace("/factory/", "/factories/")}/deliveries/${delivery.delivery_id}`);
  await shoot(2800, "2  The delivery shows which automation it started, and why the others did not match");
  await page.goto(`/runs/${worker.runID}`);
  await page.getByText("Invoice has the wrong tax").first().waitFor();
  await shoot(1200, "3  The run: an agent works in its sandbox");
  for (const { events, seen } of work) {
    await worker.tell(...events);
    await page.waitForFunction((text) => document.body.textContent.includes(text), seen);
    await shoot(1000, "3  You see every message, tool call and test as it happens");
  }
  await worker.tell(...last);
  await worker.end();
  await page.getByText("SUCCEEDED").first().waitFor();
  await page.goto(`/runs/${worker.runID}`);
  await page.locator('a[href*="/pull/817"]:visible').first().waitFor();
  await page.locator('a[href*="/pull/817"]:visible').first().evaluate((link) => link.scrollIntoView({ block: "center" }));
  await shoot(4000, "4  The pull request is open, and you know what it cost", 'a[href*="/pull/"]');
  await context.close();
  await writeFile(path.join(folder, "tour.png"), animate(frames));
}
