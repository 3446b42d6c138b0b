// I-2 every page there is works for readers who do not see it, on a phone, in light and
// in dark; and the first flow of all works with the keyboard alone. The keyboard's way
// through each other flow is in the file of its noun. And a page is light: what the browser
// fetches for it the first time.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, looks, member, over, printed, sound, soundHere, visitor } from "./browser.mjs";
import { Server, shell } from "./server.mjs";
import { World, pageRoutes } from "./world.mjs";

let server, browser, world;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ flags: World.flags }), launch()]);
  world = await World.make(server, browser);
});
after(async () => {
  await world?.close();
  await browser?.close();
  await server?.stop();
});

const nounOf = (route) => /^GET \/(\w*)/.exec(route)[1];

for (const noun of new Set(pageRoutes.map(nounOf))) {
  looks(`I-2 every page of /${noun}: no rule of accessibility is broken, nothing scrolls sideways`, async () => {
    const mine = pageRoutes.filter((route) => nounOf(route) === noun).map((route) => route.slice("GET ".length));
    await sound(browser, server.url, Object.fromEntries(mine.map((route) => [route, world.pages[route]])), {
      settled: async (page, name) => {
        assert.deepEqual(await page.locator("[role=alert]:visible").allTextContents(), [], `${name} shows an error`);
        await page.$$eval("main details", (all) => all.forEach((one) => (one.open = true)));
      },
    });
  });
}

looks("I-2 the ways in and the wrong ways are sound too", async () => {
  const { page, context } = await visitor(browser, server.url);
  await page.goto("/login?next=/runs");
  await soundHere(page, "sign in");
  await context.close();
  await sound(browser, server.url, { "no such page": "/no/such/page", "no such run": "/runs/none" });
});

/** Presses Tab until the element has the focus, which must be visible at every stop. */
async function tabTo(page, selector) {
  for (let stops = 0; stops < 120; stops++) {
    await page.keyboard.press("Tab");
    const [there, visible] = await page.evaluate((wanted) => {
      const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
      return [document.activeElement.matches(wanted), outlineStyle !== "none" && outlineWidth !== "0px"];
    }, selector);
    assert.ok(visible, "the focus is invisible at a stop on the way");
    if (there) return;
  }
  assert.fail(`no Tab leads to ${selector}`);
}

test("I-2 with the keyboard alone: sign in, open a run, send a follow-up", async () => {
  const runID = await server.startRun({ title: "Build the release notes", prompt: shell("echo collecting") });
  await server.ended(runID);
  const { page, context, complaints } = await visitor(browser, server.url);
  await page.goto("/runs");
  await page.locator("input:focus").waitFor(); // by itself, though not always before the page counts as loaded
  await page.keyboard.type(process.env.LINESHAFT_ADMIN_KEY);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Runs" }).waitFor();
  await tabTo(page, `a[href="/runs/${runID}"]`);
  await page.keyboard.press("Enter");
  await page.waitForURL(`**/runs/${runID}`);
  await over(page);
  await tabTo(page, "#message");
  await page.keyboard.insertText(shell("echo from-the-keyboard"));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent.trim()), "Send");
  await page.keyboard.press("Enter");
  await printed(page, "from-the-keyboard").waitFor();
  await over(page);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("I-2 the first Tab stop leads past the header", async () => {
  const { page, context } = await member(browser, server.url);
  await page.goto(`/runs/${world.ids.waiting}`);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  await page.keyboard.press("Enter");
  await page.waitForURL("**#main");
  await context.close();
});

const most = 100_000;
let filled; // the list of runs, with a whole page

for (const route of ["/{$}", "/runs", "/runs/{id}", "/webhooks", "/factories/{factory}/automations/{uid}/edit"]) {
  looks(`I-2 the first load of ${route} is at most ${most / 1000} KB, and nothing of it comes from elsewhere`, async (t) => {
    await (filled ??= server.parkMany(60));
    const { page, context } = await member(browser, server.url);
    const fetched = [];
    page.on("request", (request) => fetched.push(request.url()));
    await page.goto(world.pages[route]);
    const faces = await page.evaluate(async () => [...(await document.fonts.ready)].map((face) => [face.family, face.status]));
    assert.deepEqual(faces, [["Inter", "loaded"]], "the page is set in its own type face");
    assert.deepEqual(fetched.filter((url) => !url.startsWith(server.url)), []);
    // Streams have no end and no size; everything else has what came over the wire, with its headers.
    const sizes = await page.evaluate(() => performance.getEntries().filter((one) => "transferSize" in one).map((one) => [new URL(one.name).pathname, one.transferSize]));
    assert.ok(sizes.length >= 4, JSON.stringify(sizes)); // the page, its style, its type face, its script
    for (const [path, size] of sizes) if (!/\/(events|live)$/.test(path)) assert.ok(size > 0, `${path} came out of a cache`);
    const sum = sizes.reduce((all, [, size]) => all + size, 0);
    t.diagnostic(`${sum} bytes: ${sizes.map(([path, size]) => `${path} ${size}`).join(", ")}`);
    assert.ok(sum <= most, `${sum} bytes`);
    await context.close();
  });
}
