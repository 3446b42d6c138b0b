// Takes the pictures of docs/screens: every page, in both themes and on a phone.
// Start it with e2e/browser/screens; arguments are names of pictures to take alone.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { startDemo, stopDemo } from "./test/demo.mjs";
import { tour } from "./tour.mjs";
import { shrink } from "./png.mjs";
import { launch, member, visitor } from "./test/browser.mjs";
import { until } from "./test/receiver.mjs";
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
/** Folders, ports and receivers of this machine look as on anybody's. */
function hidePaths() {
  const plain = (text) => text.replace(/\/\S*\/lineshaft-(page|demo)-\w+(\/data)?/g, "/var/lib/lineshaft")
    .replaceAll(location.host, "127.0.0.1:8484").replace(/http:\/\/127\.0\.0\.1:(?!8484)\d+/g, "https://hooks.millrace.example");
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = plain(texts.currentNode.data);
  for (const field of document.querySelectorAll("input[type=url], input[type=text], textarea")) field.value = plain(field.value);
}

/** The first picture of each page, by its route. */
const shown = new Map();

function note(page, name) {
  const route = routeOf(new URL(page.url()).pathname);
  if (route && !shown.has(route) && !name.startsWith("empty-")) shown.set(route, name);
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

/** What is called so, of a list of the API. */
async function named(server, route, name) {
  const list = Object.values(await server.api(route)).find(Array.isArray);
  const one = list.find((entry) => [entry.name, entry.title, entry.config?.name].includes(name));
  if (!one) throw new Error(`${route} has no ${name}`);
  return { ...one, id: one.uid ?? one.run_id ?? one.id };
}

/** Every picture: its name, and how a page gets there. */
async function places(server) {
  const at = async (route, name) => (await named(server, route, name)).id;
  const run = (title) => at("/agent/runs?limit=100", title);
  const shop = await at("/factory", "Web shop"), docs = await at("/factory", "Handbook");
  const hooked = `/factory/${shop}/webhooks/${await at(`/factory/${shop}/webhooks`, "github")}`;
  const runs = {
    fixed: await run("#812 Cart total is off by a cent"), asks: await run("Release 4.12.1"), live: await run("Cart and invoice differ by a cent"),
    failed: await run("Upgrade the payment library to version 9"), parked: await run("Compare our prices with last year's"),
  };
  const { deliveries } = await server.api(`${hooked}/deliveries`);
  const { delivery_id: refused } = deliveries.find((one) => one.status === "rejected_auth");
  const { delivery_id: taken } = deliveries.find((one) => one.outcomes.some(({ run_id }) => run_id === runs.fixed));
  const endpoint = (name) => named(server, "/notifications", name);
  const tried = ({ deliveries: list }) => list.find((one) => one.attempt_count > 0);
  const sent = async ({ id }) => tried(await until(() => server.api(`/notifications/${id}/deliveries`), tried)).id;
  const team = await endpoint("Team chat"), release = await endpoint("Release board"), { id: pager } = await endpoint("Old pager");
  const delivered = await sent(team), retried = await sent(release);
  await until(() => endpoint("Old pager"), ({ enabled }) => !enabled);
  const factory = `/factories/${shop}`, hook = hooked.replace("/factory/", "/factories/");
  const automation = `${factory}/automations/${await at(`/factory/${shop}/automations`, "fix-labelled-bugs")}`;
  const agent = `/agents/${await at("/agent/identities", "fixer")}`, environment = `/environments/${await at("/agent/environments", "Shop")}`;
  const schedule = `/schedules/${await at("/agent/schedules", "Morning report")}`, chat = `/notifications/${team.id}`, board = `/notifications/${release.id}`;
  const of = {
    "overview": "/", "runs": "/runs", "runs-filtered": "/runs?state=FAILED&state=ERROR", "run-done": `/runs/${runs.fixed}`, "run-question": `/runs/${runs.asks}`,
    "run-live": `/runs/${runs.live}`, "run-failed": `/runs/${runs.failed}`, "run-queued": `/runs/${runs.parked}`, "run-new": "/runs/new", "run-changes": `/runs/${runs.fixed}/changes`, "run-time": `/runs/${runs.fixed}/time`, "run-compare": `/runs/${runs.live}/compare?with=${runs.failed}`, "run-outline": `/runs/${runs.fixed}/outline`, "runs-cancel": `/runs/cancel?id=${runs.parked}&id=${runs.live}`,
    "start": "/start",
    "deliveries": "/deliveries", "redeliver-all": "/deliveries/redeliver", "costs": "/costs",
    "factories": "/factories", "factory": factory, "factory-new": "/factories/new", "factory-edit": `${factory}/edit`, "factory-delete": `${factory}/delete`,
    "factory-repository": `${factory}/repository`, "revisions": `/factories/${docs}/revisions`, "revision": `/factories/${docs}/revisions/3`, "rollback": `/factories/${docs}/revisions/2/rollback`,
    "agents": "/agents", "agent-new": "/agents/new", "agent": agent, "agent-edit": `${agent}/edit`, "agent-delete": `${agent}/delete`,
    "automations": "/automations", "automation": automation, "automation-edit": `${automation}/edit`, "automation-delete": `${automation}/delete`, "automation-new": "/automations/new", "automation-new-2": `${factory}/automations/new`,
    "webhooks": "/webhooks", "webhook-new": "/webhooks/new", "webhook-test": `${hook}/test`, "webhook": hook, "webhook-new-1": `${factory}/webhooks/new`, "webhook-new-2": `${factory}/webhooks/new?kind=github`, "webhook-edit": `${hook}/edit`, "webhook-rotate": `${hook}/rotate`, "webhook-delete": `${hook}/delete`,
    "delivery": `${hook}/deliveries/${taken}`, "delivery-refused": `${hook}/deliveries/${refused}`, "redeliver": `${hook}/deliveries/${taken}/redeliver`,
    "notifications": "/notifications", "notification": chat, "notification-failing": board, "notification-given-up": `/notifications/${pager}`, "notification-new": "/notifications/new", "notification-edit": `${chat}/edit`, "notification-rotate": `${chat}/rotate`, "notification-delete": `${chat}/delete`,
    "notification-delivery": `${chat}/deliveries/${delivered}`, "notification-delivery-failing": `${board}/deliveries/${retried}`,
    "schedules": "/schedules", "schedule-new": "/schedules/new", "schedule": schedule, "schedule-edit": `${schedule}/edit`, "schedule-delete": `${schedule}/delete`,
    "environments": "/environments", "environment-new": "/environments/new", "environment": environment, "environment-edit": `${environment}/edit`, "environment-delete": `${environment}/delete`,
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
    await page.getByLabel("URL").fill(team.url);
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
    const { page, context } = await member(browser, server.url, { ...look, key: server.key });
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
  const { page, context } = await member(browser, server.url, { ...looks[0], key: server.key });
  await page.goto("/");
  const entries = await page.locator("nav li a").evaluateAll((links) => links.map((link) => `${link.textContent.trim()} ${link.getAttribute("href")}\n`));
  await writeFile(path.join(folder, "menu.txt"), entries.join(""));
  await context.close();
}

await mkdir(folder, { recursive: true });
const browser = await launch();
try {
  const server = await Server.start();
  try {
    for (const look of looks) {
      const { page, context } = await visitor(browser, server.url, look);
      await page.goto("/login");
      await picture(page, "login", look);
      await context.close();
    }
    await take(browser, server, empty);
  } finally {
    await server.stop();
  }
  const demo = await startDemo();
  try {
    await menu(browser, demo); // whose session can be ended later
    await take(browser, demo, await places(demo));
    if (wanted.length === 0 || wanted.includes("tour")) await tour(browser, demo, folder);
  } finally {
    await stopDemo(demo);
  }
  if (wanted.length === 0) await pages();
} finally {
  await browser.close();
}
