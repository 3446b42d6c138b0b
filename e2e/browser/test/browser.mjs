// Chromium, and pages that remember what went wrong in them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { adminKey, patience } from "./server.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({
    executablePath: process.env.LINESHAFT_CHROMIUM || "/usr/bin/chromium",
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
}

/** A fresh visitor: own cookies, and a list of all complaints of its pages. */
export async function visitor(browser, url, options = {}) {
  const context = await browser.newContext({ baseURL: url, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`script: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.exposeFunction("complainOfPolicy", (text) => complaints.push(`policy: ${text}`));
  await page.addInitScript(() =>
    document.addEventListener("securitypolicyviolation", (e) => window.complainOfPolicy(`${e.violatedDirective} ${e.blockedURI}`)),
  );
  return { context, page, complaints };
}

/** A visitor who has signed in. */
export async function member(browser, url, { key = adminKey, ...options } = {}) {
  const someone = await visitor(browser, url, options);
  await signIn(someone.page, key);
  return someone;
}

export async function signIn(page, key) {
  await page.goto("/login");
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL((url) => url.pathname !== "/login");
}

/** The session log as a reader sees it: one entry per event. */
export function shownLog(page) {
  return page.$$eval("#log > li", (items) =>
    items.map((item) => ({
      sequence: item.value,
      kind: item.className,
      time: item.querySelector("time").textContent,
      type: item.querySelector("b").textContent,
      text: item.querySelector("pre").textContent,
    })),
  );
}

/** Every event is there once, in order, with nothing between left out. */
export function assertWhole(log, events) {
  assert.deepEqual(log.map((line) => line.sequence), events.map((event) => event.sequence));
  assert.deepEqual(log.map((line) => line.sequence), log.map((_, index) => index + 1));
  const printed = events.filter((event) => event.type === "output").map((event) => event.data.text);
  assert.deepEqual(log.filter((line) => line.type === "output").map((line) => line.text), printed);
}

/** A line that the run printed. */
export const printed = (page, text) => page.locator("#log > li.stdout pre", { hasText: text });

/** Waits until the page says that the run is over. */
export const over = (page) => page.getByText("The run has ended.").waitFor();

/** Rules of accessibility that the page breaks. */
export async function broken(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document));
  return violations.map((rule) => `${rule.id}: ${rule.help}: ${rule.nodes.map((node) => node.target.join(" ")).join(", ")}`);
}
