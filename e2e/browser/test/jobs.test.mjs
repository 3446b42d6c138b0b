// I-2 what people come for, counted in clicks from the overview.
import assert from "node:assert/strict";
import test, { after, before } from "node:test";
import { launch, member } from "./browser.mjs";
import { Server, shell } from "./server.mjs";
import { Worker, call, output, result, says } from "./worker.mjs";

let server, browser, factory, hook;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  factory = await server.api("/factory", { body: { name: "Shop" } });
  hook = await server.api(`/factory/${factory.uid}/webhooks`, { body: { name: "builds", auth_mode: "url_token" } });
  await server.api("/secrets", { body: { name: "SHOP_TOKEN", value: "a value of a secret" } });
  const triggers = [{ provider: "webhook", event: "received", filter: { webhook_ids: [hook.uid], payload: { status: ["failed"] } } }];
  await server.api(`/factory/${factory.uid}/automations`, {
    body: { name: "explain", prompt: shell("exit 3"), config: { secrets: [{ name: "SHOP_TOKEN" }] }, triggers },
  });
});
after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Delivers a body, and waits for the runs that it starts. */
const deliver = async (body) => {
  const sent = await fetch(hook.ingress_url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  assert.equal(sent.status, 202, await sent.clone().text());
  const { delivery_id: id } = await sent.json();
  const { outcomes } = await server.api(`/factory/${factory.uid}/webhooks/${hook.uid}/deliveries/${id}`);
  const runs = outcomes.map((one) => one.run_id).filter(Boolean);
  for (const run of runs) await server.ended(run);
  return { id, runs };
};

/** Does a job from the overview and says how many clicks it took. */
const job = async (work) => {
  const { page, context, complaints } = await member(browser, server.url);
  await page.goto("/");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  let clicks = 0;
  const click = async (locator) => {
    clicks++;
    await locator.click();
  };
  await work(page, click);
  assert.deepEqual(complaints, []);
  await context.close();
  return clicks;
};

test("I-2 why a delivery started nothing: at most 3 clicks", async () => {
  const { id } = await deliver({ status: "passed", n: 1 });
  const clicks = await job(async (page, click) => {
    await click(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Deliveries" }));
    await click(page.locator(".delivery > summary", { hasText: id }));
    await page.locator(".delivery[open]").getByRole("heading", { name: "Not matched (checked against the current automations)" }).waitFor();
    await page.locator(".delivery[open] .misses", { hasText: 'status must be one of ["failed"], it is "passed"' }).waitFor();
  });
  assert.ok(clicks <= 3, `${clicks} clicks`);
});

test("I-2 which run a delivery started: at most 2 clicks", async () => {
  const { id, runs } = await deliver({ status: "failed", n: 2 });
  const clicks = await job(async (page, click) => {
    await click(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Deliveries" }));
    const started = page.locator(".delivery-item", { hasText: id }).locator(".run-of");
    await started.locator(".badge", { hasText: "Failed" }).waitFor();
    await click(started.locator("a"));
    await page.waitForURL(`**/runs/${runs[0]}`);
  });
  assert.ok(clicks <= 2, `${clicks} clicks`);
});

test("I-2 retry what a delivery started: at most 3 clicks", async () => {
  const { runs } = await deliver({ status: "failed", n: 3 });
  const clicks = await job(async (page, click) => {
    await click(page.getByRole("region", { name: "Needs attention" }).locator(`a[href="/runs/${runs[0]}"]`));
    await click(page.getByRole("link", { name: "Redeliver" }));
    await click(page.getByRole("button", { name: "Redeliver" }));
    await page.getByText("Delivered again. This is the new delivery.").waitFor();
  });
  assert.ok(clicks <= 3, `${clicks} clicks`);
});

test("I-2 the cost of today: no click", async () => {
  const clicks = await job((page) => page.locator(".tiles div", { hasText: "Spent today" }).getByText("$0.00").first().waitFor());
  assert.equal(clicks, 0);
});

test("I-2 compare with the run before: at most 2 clicks", async () => {
  const before = await deliver({ status: "failed", n: 4 });
  const { runs } = await deliver({ status: "failed", n: 5 });
  const clicks = await job(async (page, click) => {
    await click(page.getByRole("region", { name: "Needs attention" }).locator(`a[href="/runs/${runs[0]}"]`));
    await click(page.getByRole("link", { name: "Compare" }));
    await page.getByText("of the same automation").waitFor();
    await page.locator(`main p a[href="/runs/${before.runs[0]}"]`).waitFor();
  });
  assert.ok(clicks <= 2, `${clicks} clicks`);
});

test("I-2 compare with the last run that succeeded: at most 3 clicks", async () => {
  const ran = async (line) => {
    const id = await server.startRun({ title: "Has siblings", prompt: shell(line), config: { name: "sibling" } });
    await server.ended(id);
    return id;
  };
  const [good, , bad] = [await ran("true"), await ran("exit 3"), await ran("exit 3")];
  const clicks = await job(async (page, click) => {
    await click(page.getByRole("region", { name: "Needs attention" }).locator(`a[href="/runs/${bad}"]`));
    await click(page.getByRole("link", { name: "Compare" }));
    await click(page.getByRole("link", { name: "Last successful run" }));
    await page.locator(`main p a[href="/runs/${good}"]`).waitFor();
  });
  assert.ok(clicks <= 3, `${clicks} clicks`);
});

test("I-2 the failing step of a run of 500 steps: at most 2 clicks", async () => {
  const worker = await Worker.claim(server, { title: "A long way" });
  const steps = Array.from({ length: 500 }, (_, n) => [
    call(`c${n}`, "shell", { command: `step ${n}` }), output(`out ${n}\n`, `c${n}`), result(`c${n}`, "shell", n === 123 ? "failed" : "completed"),
  ]);
  for (let at = 0; at < steps.length; at += 50) await worker.tell(...steps.slice(at, at + 50).flat());
  await worker.tell(says("It did not work."));
  await worker.end("FAILED", "A step failed");
  const clicks = await job(async (page, click) => {
    await click(page.getByRole("region", { name: "Needs attention" }).getByRole("link", { name: "A long way" }));
    await click(page.getByRole("link", { name: "Show the first error" }));
    await page.locator("#log li", { hasText: "step 123" }).first().waitFor();
    assert.match(page.url(), /#e\d+$/);
  });
  assert.ok(clicks <= 2, `${clicks} clicks`);
});

test("I-2 rotate a secret with a day for the sender: at most 3 clicks, the choice in the palette being one", async () => {
  const clicks = await job(async (page, click) => {
    await page.keyboard.press("Control+k");
    await page.keyboard.type("builds");
    await click(page.getByRole("dialog", { name: "Go to" }).getByRole("link", { name: /builds Webhook/ }));
    await click(page.getByRole("link", { name: "Rotate secret" }));
    await page.locator('input[name="overlap_seconds"][value="86400"]:checked').waitFor();
    await click(page.getByRole("button", { name: "Rotate secret" }));
    await page.getByRole("heading", { name: /New secret of/ }).waitFor();
  });
  assert.ok(clicks <= 3, `${clicks} clicks`);
});
