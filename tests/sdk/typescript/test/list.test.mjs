// Listing over many runs, LINESHAFT_SDK_RUNS of them. This version of the client does not page by
// itself, so the tests hand the cursor on.
import assert from "node:assert/strict";
import test, { before } from "node:test";
import { differences } from "./shape.mjs";
import { client, parked, unique } from "./support.mjs";

const { runs, run: start } = bound(client().agent);
const total = Number(process.env.LINESHAFT_SDK_RUNS || 1000);
const cancelled = 20;
const name = unique("thousand");
const title = (index) => `Item ${String(index).padStart(4, "0")}`;
let ids = [];

// Methods of the client lose their object when taken off it.
function bound(agent) {
  return { runs: agent.runs, run: agent.run.bind(agent) };
}

before(async () => {
  ids = new Array(total);
  let next = 0;
  const one = async () => {
    for (let index = next++; index < total; index = next++) {
      const metadata = { batch: name, third: String(index % 3) };
      ids[index] = (await start({ prompt: `Number ${index}`, title: title(index), config: parked(name), metadata })).run_id;
    }
  };
  await Promise.all(Array.from({ length: 16 }, one));
  await Promise.all(ids.slice(0, cancelled).map((id) => runs.cancel(id)));
});

/** Every run that matches, page by page. */
async function all(query) {
  const found = [];
  let pages = 0;
  for (let cursor; ; ) {
    const page = await runs.list({ ...query, cursor });
    assert.ok(page.runs.length <= (query.limit ?? 20), "a page is longer than its limit");
    found.push(...page.runs);
    pages++;
    if (!page.page_info.has_next_page) return { found, pages };
    cursor = page.page_info.next_cursor;
  }
}

const sorted = (list) => [...list].sort();

test(`H-8 ${total} runs come once each, in pages of a tenth, newest change first`, async () => {
  const { found, pages } = await all({ name, limit: total / 10 });
  assert.deepEqual(sorted(found.map((run) => run.run_id)), sorted(ids));
  assert.ok(pages >= 10, `${pages} pages`);
  const stamps = found.map((run) => run.updated_at);
  assert.deepEqual(stamps, sorted(stamps).reverse());
});

test("H-8 the page size is 20 unless asked otherwise, and 500 at most", async () => {
  assert.equal((await runs.list({ name })).runs.length, 20);
  assert.equal((await runs.list({ name, limit: 500 })).runs.length, Math.min(total, 500));
});

test("every listed run fits the declared type", async () => {
  const { found } = await all({ name, limit: 500 });
  assert.deepEqual(found.flatMap((run) => differences("runs", "RunItem", run)), []);
  for (const run of found) {
    for (const field of ["created_at", "updated_at"]) assert.match(run[field], /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  }
});

test("R-4 state can be given several times", async () => {
  const count = async (state) => (await all({ name, state, limit: 500 })).found.length;
  assert.equal(await count(["CANCELLED"]), cancelled);
  assert.equal(await count(["QUEUED"]), total - cancelled);
  assert.equal(await count(["QUEUED", "CANCELLED"]), total);
  assert.equal(await count(["SUCCEEDED", "FAILED"]), 0);
});

test("R-4 name, source, model and creator", async () => {
  assert.equal((await all({ name: unique("nobody") })).found.length, 0);
  assert.equal((await all({ name, source: "API", limit: 500 })).found.length, total);
  assert.equal((await all({ name, source: "SLACK", limit: 500 })).found.length, 0);
  assert.equal((await all({ name, model_id: "no-such-model" })).found.length, 0);
  const creator = (await runs.retrieve(ids[0])).creator.uid;
  assert.equal((await all({ name, creator, limit: 500 })).found.length, total);
  assert.equal((await all({ name, creator: "nobody" })).found.length, 0);
});

test("R-4 created_after is inclusive, created_before is not", async () => {
  const { found } = await all({ name, sort_by: "created_at", sort_order: "asc", limit: 500 });
  const edge = found[Math.floor(total * 0.7)].created_at;
  const since = found.filter((run) => run.created_at >= edge).map((run) => run.run_id);
  const after = await all({ name, created_after: edge, limit: 200 });
  const earlier = await all({ name, created_before: edge, limit: 200 });
  assert.deepEqual(sorted(after.found.map((run) => run.run_id)), sorted(since));
  assert.equal(earlier.found.length, total - since.length);
});

test("R-4 metadata as an object in the query", async () => {
  const { found } = await all({ metadata: { batch: name, third: "1" }, limit: 100 });
  assert.deepEqual(sorted(found.map((run) => run.run_id)), sorted(ids.filter((_, index) => index % 3 === 1)));
  assert.equal((await all({ metadata: { batch: name, third: "7" } })).found.length, 0);
});

test("R-4 sort by title and by creation, both ways", async () => {
  const titles = Array.from({ length: total }, (_, index) => title(index));
  const order = async (query) => (await all({ name, limit: 250, ...query })).found;
  assert.deepEqual((await order({ sort_by: "title", sort_order: "asc" })).map((run) => run.title), titles);
  assert.deepEqual((await order({ sort_by: "title", sort_order: "desc" })).map((run) => run.title), titles.toReversed());
  const created = (await order({ sort_by: "created_at", sort_order: "asc" })).map((run) => run.created_at);
  assert.deepEqual(created, sorted(created));
});

test("R-4 q finds a run by its id", async () => {
  assert.deepEqual((await runs.list({ q: ids[7] })).runs.map((run) => run.run_id), [ids[7]]);
});

test("H-8 a cursor belongs to its filters", async () => {
  const { page_info } = await runs.list({ name, limit: 10 });
  await assert.rejects(runs.list({ name: "another", limit: 10, cursor: page_info.next_cursor }), { status: 400 });
  await assert.rejects(runs.list({ name, limit: 10, cursor: "nonsense" }), { status: 400 });
});
