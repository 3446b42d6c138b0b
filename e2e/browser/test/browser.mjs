// Chromium, and pages that remember what went wrong in them.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import test from "node:test";
import { chromium } from "playwright-core";
import { adminKey, patience } from "./server.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A folder for pictures of the pages, when somebody wants some. */
const pictures = process.env.LINESHAFT_E2E_PICTURES;

const engine = process.env.LINESHAFT_E2E_DATABASE ? "postgres" : "sqlite";

/** Whether what is the same whatever the database is looked at here: with both engines, on the named one alone. */
export const here = (named) => {
  assert.ok(["sqlite", "postgres"].includes(named), `${named} is no engine: what is looked at there alone would be looked at nowhere`);
  return !process.env.LINESHAFT_E2E_ONCE || engine === named;
};

/** A test of something that is the same whatever the database. README.md says what is. */
export const onceOn = (named, ...rest) => here(named) && test(...rest);

// Where rules of accessibility are looked at.
const looking = "sqlite";

/** A test of how pages look, and no more. */
export const looks = (...rest) => onceOn(looking, ...rest);

/** Whether everything is looked at, as in make test-all, or each thing once. */
export const everything = Boolean(process.env.LINESHAFT_TEST_ALL || process.env.LINESHAFT_SOAK);

// Chromium as people have it draws its windows even when nobody sees them, which costs several times what
// a page does. Without windows the pages are the same; make soak has both.
const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
if (process.env.LINESHAFT_SOAK || pictures || process.env.LINESHAFT_SCREENS) programs.reverse();

export function launch() {
  return chromium.launch({
    timeout: patience,
    executablePath: process.env.LINESHAFT_CHROMIUM || programs.find(existsSync) || programs[0],
    args: [
      "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
}

// A request that a newer one replaces is aborted, and htmx notes that as if it were a mistake.
// What really fails is htmx:sendError or htmx:responseError, and the browser's own note.
const replaced = /^htmx:(afterRequest|sendAbort), /;

/** A fresh visitor: own cookies, and a list of all complaints of its pages. */
export async function visitor(browser, url, options = {}) {
  const context = await browser.newContext({ baseURL: url, ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !replaced.test(message.text())) complaints.push(`console: ${message.text()}`);
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

/** A visitor who has signed in, with a page that is still empty. */
export async function member(browser, url, { key = adminKey, ...options } = {}) {
  const someone = await visitor(browser, url, options);
  const answer = await someone.context.request.post("/login", { form: { key }, maxRedirects: 0 });
  assert.equal(answer.status(), 303, "signing in");
  return someone;
}

/** The transcript as a reader sees it: one entry per event, by its number. */
export function shownLog(page) {
  return page.$$eval("#log [data-seq]", (rows) =>
    rows
      .map((row) => {
        const output = row.matches(".out");
        const text = row.querySelector(":scope > .md, :scope > pre, :scope > .rule");
        return {
          sequence: Number(row.dataset.seq),
          type: output ? "output" : row.matches(".result") ? "tool_result" : row.classList[1],
          kind: output ? row.classList[1] : row.className,
          text: output ? row.textContent : (text ?? row).textContent,
        };
      })
      .sort((a, b) => a.sequence - b.sequence),
  );
}

/** Every event is there once, with nothing between left out, and entries are in order. */
export function assertWhole(log, events) {
  assert.deepEqual(log.map((line) => line.sequence), events.map((event) => event.sequence));
  assert.deepEqual(log.map((line) => line.sequence), log.map((_, index) => index + 1));
  const printed = events.filter((event) => event.type === "output").map((event) => event.data.text);
  assert.deepEqual(log.filter((line) => line.type === "output").map((line) => line.text), printed);
}

/** A line that the run printed. */
export const printed = (page, text) => page.locator("#log .out.stdout", { hasText: text });

/** Waits until the page of a run shows its state, which comes apart from what the run says. */
export const inState = (page, name) => page.locator("#state").getByText(name, { exact: true }).waitFor();

/** Cancels with the page's own buttons. */
export async function cancelRun(page) {
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByRole("button", { name: "Yes, cancel it" }).click();
}

/** Waits until the page says that the run is over. */
export const over = (page) => page.getByText("The run has ended.").waitFor();

/** Waits until the words of a run can be searched for: the index follows a moment later. */
export const indexed = (page, words, title) =>
  page.waitForFunction(async ([text, wanted]) => {
    const found = await fetch(`/runs?${new URLSearchParams({ q: text })}`);
    return (await found.text()).includes(wanted);
  }, [words, title]);

/** Waits until the page is set in its own type face: in the one before, words are of another width. */
export const typeset = (page) => page.evaluate(() => document.fonts.ready.then(() => {}));

/** Rules of accessibility that the page breaks, of all or of some. */
export async function broken(page, rules) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations } = await page.evaluate((only) => window.axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: { type: "rule", values: only } }) }), rules);
  return violations.map((rule) => `${rule.id}: ${rule.help}: ${rule.nodes.map((node) => node.target.join(" ")).join(", ")}`);
}

const all = "all";
// A theme is colours alone, and on a phone the same elements stand elsewhere: make test looks for no more than that.
const rulesOf = everything
  ? { wide: { light: all, dark: all }, phone: { light: all, dark: all } }
  : { wide: { light: all }, phone: { dark: ["color-contrast", "link-in-text-block", "target-size"] } };
const sizes = { wide: { width: 1280, height: 800 }, phone: { width: 360, height: 740 } };

/** The pages break no rule of accessibility and do not scroll sideways, in both themes, wide and on a phone. */
export async function sound(browser, url, places, { key = adminKey, settled = async () => {} } = {}) {
  if (!here(looking)) return;
  const { page, context } = await member(browser, url, { key });
  const wrong = [];
  for (const [name, address] of Object.entries(places)) {
    await page.setViewportSize(sizes.wide);
    await page.goto(address);
    await settled(page, name);
    wrong.push(...(await unsound(page, name)));
  }
  assert.deepEqual(wrong, []);
  await context.close();
}

/** The same for the page as it is now. */
export async function soundHere(page, name) {
  if (!here(looking)) return;
  assert.deepEqual(await unsound(page, name), []);
}

async function unsound(page, name) {
  const wrong = [];
  await typeset(page);
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    for (const [colorScheme, rules] of Object.entries(rulesOf[size])) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" }); // without motion the theme is there at once
      const found = await broken(page, rules === all ? undefined : rules);
      wrong.push(...found.map((rule) => `${name}, ${colorScheme}, ${size}: ${rule}`));
      if (pictures) await page.screenshot({ path: `${pictures}/${name.replace(/\W+/g, "-")}-${colorScheme}-${size}.png`, fullPage: true });
    }
    const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    const cut = await page.$$eval("main .card.flush", (cards) => cards.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => `${one.scrollWidth} px in ${one.clientWidth} px: ${one.innerText.slice(0, 60)}`));
    wrong.push(...cut.map((card) => `${name}, ${size}: a table is cut, ${card}`));
    if (content > window) wrong.push(`${name}, ${size}: ${content} px wide in a window of ${window} px`);
  }
  return wrong;
}
