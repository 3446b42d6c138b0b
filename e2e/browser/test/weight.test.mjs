// I-2 a page is light: what the browser fetches for it the first time.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member } from "./browser.mjs";
import { Server } from "./server.mjs";
import { World } from "./world.mjs";

const most = 100_000;

let server, browser, world;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ flags: World.flags }), launch()]);
  world = await World.make(server, browser);
  await server.parkMany(60); // a whole page of the list
});
after(async () => {
  await world?.close();
  await browser?.close();
  await server?.stop();
});

for (const route of ["/{$}", "/runs", "/runs/{id}", "/webhooks", "/factories/{factory}/automations/{uid}/edit"]) {
  test(`I-2 the first load of ${route} is at most ${most / 1000} KB, and nothing of it comes from elsewhere`, async (t) => {
    const { page, context } = await member(browser, server.url);
    const fetched = [];
    page.on("request", (request) => fetched.push(request.url()));
    await page.goto(world.pages[route]);
    assert.deepEqual(fetched.filter((url) => !url.startsWith(server.url)), []);
    // Streams have no end and no size; everything else has what came over the wire, with its headers.
    const sizes = await page.evaluate(() => performance.getEntries().filter((one) => "transferSize" in one).map((one) => [new URL(one.name).pathname, one.transferSize]));
    assert.ok(sizes.length >= 3, JSON.stringify(sizes)); // the page, its style, its script
    for (const [path, size] of sizes) if (!/\/(events|live)$/.test(path)) assert.ok(size > 0, `${path} came out of a cache`);
    const sum = sizes.reduce((all, [, size]) => all + size, 0);
    t.diagnostic(`${sum} bytes: ${sizes.map(([path, size]) => `${path} ${size}`).join(", ")}`);
    assert.ok(sum <= most, `${sum} bytes`);
    await context.close();
  });
}
