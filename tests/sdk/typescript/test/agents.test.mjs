// Agents and work for a factory. This client has no methods for them, so its calls to
// any address are used.
import assert from "node:assert/strict";
import test from "node:test";
import * as sdk from "oz-agent-sdk";
import { client, unique } from "./support.mjs";

const it = client();
const newFactory = async () => (await it.post("/factory", { body: { name: unique("factory") } })).uid;

test("F-8 an agent from creation to deletion", async () => {
  const factory_uid = await newFactory();
  const made = await it.post("/agent/identities", { body: { name: "reviewer", agent_type: "REVIEW", factory_uid, prompt: "You review." } });
  assert.deepEqual([made.name, made.available, made.secrets, made.skills], ["reviewer", true, [], []]);
  const { agents } = await it.get("/agent/identities", { query: { factory_uid } });
  assert.deepEqual(agents.map((agent) => agent.name), ["foreman", "reviewer"]);
  const changed = await it.put(`/agent/identities/${made.uid}`, { body: { prompt: "", base_model: "some-model", description: null } });
  assert.deepEqual([changed.prompt, changed.base_model], [undefined, "some-model"]);
  assert.equal(await it.delete(`/agent/identities/${made.uid}`), null);
  await assert.rejects(it.get(`/agent/identities/${made.uid}`), sdk.NotFoundError);
});

test("R-2 a run of an agent is told apart by its executor", async () => {
  const made = await it.post("/agent/identities", { body: { name: unique("worker"), worker_host: "never-connected" } });
  const { run_id } = await it.agent.run({ prompt: "x", agent_identity_uid: made.uid });
  const run = await it.agent.runs.retrieve(run_id);
  assert.equal(run.executor.uid, made.uid);
  assert.equal(run.agent_config.worker_host, "never-connected");
  await assert.rejects(it.agent.run({ prompt: "x", agent_identity_uid: "unknown" }), sdk.BadRequestError);
  await it.agent.runs.cancel(run_id);
});

test("F-1 work for a factory goes to its foreman", async () => {
  const uid = await newFactory();
  const done = await it.post(`/factory/${uid}/runs`, { body: { prompt: "x", title: "t" } });
  assert.deepEqual([done.factory_uid, done.foreman_agent], [uid, "foreman"]);
  assert.match(done.ticket_ref, /^adhoc:/);
  const run = await it.agent.runs.retrieve(done.run_id);
  assert.equal(run.title, "t");
});
