// The official clients of npm list and call every tool (I-4).
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { adminKey, api, connect, endpoint, generations, keyFor, parked, shell, unique, world } from "./support.mjs";

for (const generation of generations) {
  describe(generation.name, () => {
    const called = new Set();
    let mcp, made, listed;

    before(async () => {
      [mcp, made] = await Promise.all([connect(generation), world()]);
      listed = await mcp.list();
    });
    after(() => mcp?.close());

    /** Calls a tool that must succeed; both clients hold the answer against the tool's schema. */
    async function call(name, args, settings) {
      const result = await mcp.call(name, args, settings);
      assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
      assert.ok(result.content[0].text.length > 0);
      called.add(name);
      return { ...result.structuredContent, text: result.content[0].text };
    }

    test("negotiates its protocol", () => {
      const version = mcp.client.getNegotiatedProtocolVersion?.() ?? mcp.client.transport?.protocolVersion;
      assert.equal(version, generation.version);
      assert.equal(mcp.client.getServerVersion().name, "lineshaft");
      assert.match(mcp.client.getInstructions(), /dispatch/);
    });

    test("every tool is described", () => {
      assert.ok(listed.length >= 14);
      for (const tool of listed) {
        assert.ok(tool.description.length > 40, tool.name);
        assert.equal(tool.inputSchema.type, "object");
        assert.equal(tool.outputSchema.type, "object");
        assert.equal(typeof tool.annotations.readOnlyHint, "boolean");
      }
    });

    test("finds factories and what they have", async () => {
      const { factories } = await call("list_factories", { search: made.factory.name });
      assert.deepEqual(factories.map(({ uid }) => uid), [made.factory.uid]);
      const { agents } = await call("list_agents", { factory: made.factory.alias });
      assert.deepEqual(agents.map(({ name }) => name), ["foreman"]);
      const { automations } = await call("list_automations", { factory: made.factory.name });
      assert.deepEqual(automations.map(({ uid }) => uid), [made.automation.uid]);
      const { webhooks, text } = await call("list_webhooks", { factory: made.factory.uid });
      assert.deepEqual(webhooks.map(({ uid }) => uid), [made.webhook.uid]);
      assert.ok(!text.includes(made.webhook.secret));
    });

    test("starts a run, waits for it and reads it", async () => {
      const word = unique("word");
      const args = { prompt: shell(`echo ${word}`), factory: made.factory.alias, title: word, idempotency_key: word };
      const started = await call("dispatch", args);
      assert.equal((await call("dispatch", args)).run_id, started.run_id);
      assert.equal(started.foreman_agent, "foreman");
      let waited;
      do waited = await call("wait_for_run", { run_id: started.run_id, seconds: 50 });
      while (waited.waiting);
      assert.equal(waited.run.state, "SUCCEEDED", JSON.stringify(waited));
      const run = await call("get_run", { run_id: started.run_id });
      assert.equal(run.source, "MCP");
      assert.equal(run.factory_uid, made.factory.uid);
      assert.equal(run.untrusted.title, word);
      assert.match(run.text, /follow no instructions/);
      assert.equal(run.untrusted.output, word);
      assert.match(waited.text, /get_run_events has its whole log/);
      assert.ok(waited.text.includes(`output: ${word}`), waited.text);
      const { events } = await call("get_run_events", { run_id: started.run_id, limit: 200 });
      assert.ok(JSON.stringify(events).includes(word));
      const { runs } = await call("list_runs", { factory: made.factory.uid, source: "MCP" });
      assert.deepEqual(runs.map(({ run_id }) => run_id), [started.run_id]);
    });

    test("follows up, is told of progress and cancels", async () => {
      const run_id = await parked();
      assert.equal((await call("follow_up", { run_id, message: "and hurry" })).outcome, "queued_prompt");
      // Nobody works on it: only what the first note of progress sets off ends the wait.
      const notes = [];
      let cancelled;
      const onprogress = (note) => {
        notes.push(note.message);
        cancelled ??= call("cancel_run", { run_id });
      };
      const waited = await call("wait_for_run", { run_id, seconds: 50 }, { onprogress });
      assert.equal(notes[0], "QUEUED");
      assert.equal((await cancelled).state, "CANCELLED");
      assert.equal(waited.run.state, "CANCELLED");
    });

    test("reads deliveries and tests filters", async () => {
      const at = { factory: made.factory.uid, webhook: "ci" };
      const { deliveries } = await call("list_deliveries", at);
      assert.equal(deliveries[0].delivery_id, made.delivery);
      const { untrusted } = await call("get_delivery", { ...at, delivery_id: made.delivery, explain: true });
      assert.deepEqual(untrusted.payload, { status: "broken", number: 1 });
      const filter = { payload: { status: ["fixed"] } };
      assert.equal((await call("test_filter", { ...at, filter, delivery_id: made.delivery })).would_trigger, false);
      assert.equal((await call("test_filter", { ...at, filter, payload: { status: "fixed" } })).would_trigger, true);
    });

    test("says what is wrong and what to do", async () => {
      const missing = await mcp.call("get_run", { run_id: "nothing" });
      assert.ok(missing.isError);
      assert.match(missing.content[0].text, /^resource_not_found: no run "nothing" here; check the id/);
      assert.equal(missing._meta["lineshaft/error"].code, "resource_not_found");
      const wrong = await mcp.call("dispatch", { prompt: 7 });
      assert.match(wrong.content[0].text, /^invalid_request: the arguments do not fit the tool's schema/);
      await assert.rejects(mcp.call("no_such_tool"), /no tool "no_such_tool"/);
      const limited = await connect(generation, await keyFor("member", { factory_uids: [made.factory.uid] }));
      try {
        const nowhere = await limited.call("dispatch", { prompt: "x" });
        assert.match(nowhere.content[0].text, /^not_authorized: .*argument factory/);
      } finally {
        await limited.close();
      }
    });

    test("every tool that is listed was called", () => {
      assert.deepEqual([...called].sort(), listed.map(({ name }) => name).sort());
    });

    test("a viewer sees what viewers may use, and no more is done", async () => {
      const viewer = await connect(generation, await keyFor("viewer"));
      try {
        const names = (await viewer.list()).map(({ name }) => name);
        assert.ok(names.includes("get_run") && !names.includes("dispatch"), names.join());
        const refused = await viewer.call("dispatch", { prompt: "x" });
        assert.match(refused.content[0].text, /^not_authorized: the role "viewer" of this key does not include runs:start/);
      } finally {
        await viewer.close();
      }
    });

    test("a key that is revoked opens nothing from then on", async () => {
      const made = await api("POST", "/apikeys", { name: unique("brief"), role: "member" });
      const brief = await connect(generation, made.key);
      try {
        assert.ok((await brief.list()).length > 0);
        await api("DELETE", `/apikeys/${made.id}`);
        await assert.rejects(brief.call("list_runs"), /401|nauthorized/i);
      } finally {
        await brief.close();
      }
    });
  });
}

test("without a key the answer is that of the API, byte for byte", async () => {
  const bodies = await Promise.all(
    [endpoint, new URL("/api/v1/agent/runs", endpoint)].map(async (url) => {
      const response = await fetch(url, { method: "POST", body: "{}" });
      assert.equal(response.status, 401);
      return response.text();
    }),
  );
  assert.equal(bodies[0], bodies[1]);
});

test("pages of another origin are refused, whatever their key", async () => {
  for (const origin of ["https://attacker.example", "null"]) {
    const response = await fetch(endpoint, { method: "POST", headers: { origin, authorization: `Bearer ${adminKey}` }, body: "{}" });
    assert.equal(response.status, 403, origin);
  }
});
