// Takes the pictures of docs/screens: every page, in both themes and on a phone.
// Start it with e2e/browser/screens; arguments are names of pictures to take alone.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { found } from "./company.mjs";
import { startDemo, stopDemo } from "./test/demo.mjs";
import { tour } from "./tour.mjs";
import { shrink } from "./png.mjs";
import { launch, member, visitor } from "./test/browser.mjs";
import { allowPrivate } from "./test/receiver.mjs";
import { Server, required } from "./test/server.mjs";
import { otherRoutes, pageRoutes, routeOf } from "./test/world.mjs";

const folder = required("LINESHAFT_SCREENS");
const wanted = process.argv.slice(2);

const wide = { width: 1280, height: 800 };
const looks = [
  { name: "light", colorScheme: "light", viewport: wide, tallest: 1100, deviceScaleFactor: 2 },
  { name: "dark", colorScheme: "dark", viewport: wide, tallest: 1100, deviceScaleFactor: 2 },
  { name: "phone", colorScheme: "light", viewport: { width: 360, height: 740 }, tallest: 1300, deviceScaleFactor: 2 },
];
/** Folders and receivers of this machine look as on anybody's. */
function hidePaths() {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\/\S*\/lineshaft-page-\w+/g, "/var/lib/lineshaft").replace(/http:\/\/127\.0\.0\.1:\d+\/(chat|board|pager|warehouse)/, "https://hooks.millrace.example/$1");
}

/** The first picture of each page, by its route. */
const shown = new Map();

function note(page, name) {
  const route = routeOf(new URL(page.url()).pathname);
  if (route && !shown.has(route) && !/^(empty-|demo$)/.test(name)) shown.set(route, name);
}

// It needs a factory that follows a repository, which no other picture has.
const without = ["/factories/{factory}/repository/unlink"];

/** Which picture has which page: a test compares it with the routes of the server. */
async function pages() {
  const lines = pageRoutes.map((one) => one.slice("GET ".length)).map((route) => {
    const name = without.includes(route) ? "-" : shown.get(route);
    if (!name) throw new Error(`no picture shows ${route}: add it to places`);
    return `${route} ${name}\n`;
  });
  for (const one of otherRoutes) lines.push(`${one.slice("GET ".length)} -\n`);
  await writeFile(path.join(folder, "pages.txt"), lines.sort().join(""));
}

/** A picture of a page in a window as high as the page, so that what sticks to an edge is where it belongs. */
async function picture(page, name, { name: look, viewport, tallest }) {
  note(page, name);
  await page.evaluate(hidePaths);
  const whole = await page.evaluate(() => document.documentElement.scrollHeight);
  await page.setViewportSize({ width: viewport.width, height: Math.min(Math.max(whole, viewport.height), tallest) });
  await writeFile(path.join(folder, `${name}-${look}.png`), shrink(await page.screenshot({ animations: "disabled" })));
  await page.setViewportSize(viewport);
}

const open = (address) => (page) => page.goto(address);

/** Every picture: its name, and how a page gets there. */
function places({ environment, shop, docs, schedule, runs, log, callbacks }) {
  const factory = `/factories/${shop.uid}`;
  const hook = `${factory}/webhooks/${shop.hooks.github.uid}`;
  const automation = `${factory}/automations/${shop.fix.uid}`;
  const refused = log.find((one) => one.outcome === "rejected" || one.status === "rejected") ?? log[1];
  const taken = log.at(-1);
  const chat = `/notifications/${callbacks.chat}`;
  const board = `/notifications/${callbacks.board}`;
  const of = {
    "overview": "/", "runs": "/runs", "runs-filtered": "/runs?state=FAILED&state=ERROR", "run-done": `/runs/${runs.fixed}`, "run-question": `/runs/${runs.asks}`,
    "run-live": `/runs/${runs.live}`, "run-failed": `/runs/${runs.failed}`, "run-queued": `/runs/${runs.parked}`, "run-new": "/runs/new", "run-changes": `/runs/${runs.fixed}/changes`, "run-time": `/runs/${runs.fixed}/time`, "run-compare": `/runs/${runs.live}/compare?with=${runs.failed}`, "run-outline": `/runs/${runs.fixed}/outline`, "runs-cancel": `/runs/cancel?id=${runs.parked}&id=${runs.live}`,
    "start": "/start",
    "deliveries": "/deliveries", "redeliver-all": "/deliveries/redeliver", "costs": "/costs",
    "factories": "/factories", "factory": factory, "factory-new": "/factories/new", "factory-edit": `${factory}/edit`, "factory-delete": `${factory}/delete`,
    "factory-repository": `${factory}/repository`, "revisions": `/factories/${docs}/revisions`, "revision": `/factories/${docs}/revisions/2`, "rollback": `/factories/${docs}/revisions/1/rollback`,
    "agents": "/agents", "agent-new": "/agents/new", "agent": `/agents/${shop.fixer.uid}`, "agent-edit": `/agents/${shop.fixer.uid}/edit`, "agent-delete": `/agents/${shop.fixer.uid}/delete`,
    "automations": "/automations", "automation": automation, "automation-edit": `${automation}/edit`, "automation-delete": `${automation}/delete`, "automation-new": "/automations/new", "automation-new-2": `${factory}/automations/new`,
    "webhooks": "/webhooks", "webhook-new": "/webhooks/new", "webhook-test": `${hook}/test`, "webhook": hook, "webhook-new-1": `${factory}/webhooks/new`, "webhook-new-2": `${factory}/webhooks/new?kind=github`, "webhook-edit": `${hook}/edit`, "webhook-rotate": `${hook}/rotate`, "webhook-delete": `${hook}/delete`,
    "delivery": `${hook}/deliveries/${taken.delivery_id}`, "delivery-refused": `${hook}/deliveries/${refused.delivery_id}`, "redeliver": `${hook}/deliveries/${taken.delivery_id}/redeliver`,
    "notifications": "/notifications", "notification": chat, "notification-failing": board, "notification-given-up": `/notifications/${callbacks.pager}`, "notification-new": "/notifications/new", "notification-edit": `${chat}/edit`, "notification-rotate": `${chat}/rotate`, "notification-delete": `${chat}/delete`,
    "notification-delivery": `${chat}/deliveries/${callbacks.delivered}`, "notification-delivery-failing": `${board}/deliveries/${callbacks.retried}`,
    "schedules": "/schedules", "schedule-new": "/schedules/new", "schedule": `/schedules/${schedule}`, "schedule-edit": `/schedules/${schedule}/edit`, "schedule-delete": `/schedules/${schedule}/delete`,
    "environments": "/environments", "environment-new": "/environments/new", "environment": `/environments/${environment}`, "environment-edit": `/environments/${environment}/edit`, "environment-delete": `/environments/${environment}/delete`,
    "secrets": "/secrets", "secret": "/secrets/GITHUB_TOKEN", "secret-new": "/secrets/new", "secret-delete": "/secrets/GITHUB_TOKEN/delete", "workers": "/workers", "worker": "/workers/build-02/runs", "keys": "/keys", "key-new": "/keys/new",
    "sessions": "/sessions", "sessions-others": "/sessions/others", "audit": "/audit", "settings": "/settings", "doctor": "/settings/doctor", "search": "/search?q=cart", "not-found": "/runs/01980f6f-aaaa-7bbb-8ccc-9ddddeeeefff",
  };
  const steps = Object.fromEntries(Object.entries(of).map(([name, address]) => [name, open(address)]));
  steps["webhook-new-3"] = async (page, look) => {
    await page.goto(`${factory}/webhooks/new?kind=github`);
    await page.getByLabel("Name", { exact: true }).fill(`ui-kit-${look.name}`);
    await page.getByRole("button", { name: "Create webhook" }).click();
    await page.getByText("Waiting for the first delivery").waitFor();
  };
  steps["notification-made"] = async (page, look) => {
    await page.goto("/notifications/new");
    await page.getByLabel("URL").fill(callbacks.at("chat"));
    await page.getByLabel("Name", { exact: true }).fill(`Deploy bot, ${look.name}`);
    await page.getByRole("button", { name: "Create notification" }).click();
    await page.getByText("shown only once").waitFor();
  };
  steps["revoke"] = async (page) => {
    await page.goto("/keys");
    await page.getByRole("link", { name: /^Revoke/ }).first().click();
    await page.waitForURL("**/revoke");
  };
  steps["session-end"] = async (page) => {
    await page.goto("/sessions");
    await page.locator("td.act").getByRole("link", { name: /^Sign out/ }).first().click();
    await page.waitForURL("**/end");
  };
  steps["key-made"] = async (page, look) => {
    await page.goto("/keys/new");
    await page.getByLabel("Name", { exact: true }).fill(`Laptop, ${look.name}`);
    await page.locator("main form button[type=submit], main form button:not([type])").last().click();
    await page.getByText("lineshaft").first().waitFor();
  };
  steps["form-mistake"] = async (page) => {
    await page.goto("/schedules/new");
    await page.getByLabel("Name", { exact: true }).fill("Every hour");
    await page.locator("[name=cron]").fill("every hour");
    await page.locator("main form button.primary").last().click();
    await page.waitForLoadState("load");
  };
  return steps;
}

/** What a server shows on its first day. */
const empty = Object.fromEntries(
  Object.entries({ overview: "/", runs: "/runs", factories: "/factories", webhooks: "/webhooks", notifications: "/notifications", environments: "/environments" })
    .map(([name, address]) => [`empty-${name}`, open(address)]),
);

/** Pages that also have a dark picture: those with the most different parts. At twice the size each costs. */
const dark = /^(empty-overview|overview|runs|run-done|run-live|run-question|run-time|deliveries|delivery|costs|factory|automation|webhook|webhook-new-3|notification|settings|form-mistake)$/;

async function take(browser, server, steps) {
  for (const look of looks) {
    const { page, context } = await member(browser, server.url, look);
    for (const [name, go] of Object.entries(steps)) {
      if (look.name === "dark" && !dark.test(name)) continue;
      if (wanted.length > 0 && !wanted.some((one) => name.startsWith(one))) continue;
      await page.goto("about:blank"); // no page sees what another left
      await go(page, look);
      await picture(page, name, look).catch((error) => { throw new Error(`${name}: ${error.message}`); });
    }
    await context.close();
  }
}

/** The menu that the pictures show: a test compares it with the one that there is. */
async function menu(browser, server) {
  const { page, context } = await member(browser, server.url, looks[0]);
  await page.goto("/");
  const entries = await page.locator("nav li a").evaluateAll((links) => links.map((link) => `${link.textContent.trim()} ${link.getAttribute("href")}\n`));
  await writeFile(path.join(folder, "menu.txt"), entries.join(""));
  await context.close();
}

/** What `lineshaft demo` shows first. */
async function demo(browser) {
  if (wanted.length > 0 && !wanted.includes("demo")) return;
  const started = await startDemo();
  try {
    for (const look of looks.filter(({ name }) => name !== "dark")) {
      const { page, context } = await member(browser, started.url, { ...look, key: started.key });
      await page.goto("/");
      await page.locator(".attention li").first().waitFor();
      await picture(page, "demo", look);
      await context.close();
    }
  } finally {
    await stopDemo(started);
  }
}

await mkdir(folder, { recursive: true });
const browser = await launch();
const server = await Server.start({ flags: allowPrivate });
try {
  for (const look of looks) {
    const { page, context } = await visitor(browser, server.url, look);
    await page.goto("/login");
    await picture(page, "login", look);
    await context.close();
  }
  await take(browser, server, empty);
  await demo(browser);
  const company = await found(server);
  await take(browser, server, places(company));
  if (wanted.length === 0 || wanted.includes("tour")) await tour(browser, server, company, folder);
  await menu(browser, server);
  if (wanted.length === 0) await pages();
  await company.runs.end();
  await company.callbacks.stop();
} finally {
  await browser.close();
  await server.stop();
}
