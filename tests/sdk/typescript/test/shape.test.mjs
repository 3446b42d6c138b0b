// The checker itself: a check that cannot fail would prove nothing.
import assert from "node:assert/strict";
import test from "node:test";
import { differences } from "./shape.mjs";

const good = {
  run_id: "r", task_id: "r", title: "t", prompt: "p", state: "QUEUED",
  created_at: "2026-01-01T00:00:00Z", updated_at: "2026-01-01T00:00:00Z", started_at: null,
};

test("the type checker accepts what the client declares", () => {
  assert.deepEqual(differences("runs", "RunItem", good), []);
});

for (const [what, change, complaint] of [
  ["a missing field", { run_id: undefined }, /RunItem\.run_id: missing/],
  ["a wrong type", { title: 7 }, /RunItem\.title: 7 is not string/],
  ["a null where none is declared", { prompt: null }, /RunItem\.prompt: null is not string/],
  ["an unknown state", { state: "DREAMING" }, /RunItem\.state: "DREAMING" is not/],
  ["a wrong nested type", { scope: { type: "Planet" } }, /RunItem\.scope/],
  ["an object for an array", { artifacts: {} }, /RunItem\.artifacts/],
  ["a wrong value in a map", { agent_config: { mcp_servers: { a: { url: 1 } } } }, /RunItem\.agent_config/],
  ["a string for a flag", { is_sandbox_running: "no" }, /RunItem\.is_sandbox_running/],
]) {
  test(`the type checker refuses ${what}`, () => {
    assert.match(differences("runs", "RunItem", { ...good, ...change }).join("\n"), complaint);
  });
}
