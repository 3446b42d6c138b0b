// Skills of repositories, through the published client.
import assert from "node:assert/strict";
import test from "node:test";
import * as sdk from "oz-agent-sdk";
import { client, ended } from "./support.mjs";

const skill = "acme/tools:greet";

test("X-8 a run with a skill takes its name", async () => {
  const { run_id } = await client().agent.run({ skill, prompt: "Ada" });
  const run = await ended(run_id);
  assert.equal(run.agent_config.name, "greet");
  assert.equal(run.agent_config.skill_spec, skill);
  assert.equal(run.agent_skill.full_path, ".agents/skills/greet/SKILL.md");
});

test("X-8 a skill that does not exist is NotFoundError", async () => {
  await assert.rejects(client().agent.run({ skill: "acme/tools:gret", prompt: "x" }), (error) => {
    assert.ok(error instanceof sdk.NotFoundError);
    assert.match(error.error.detail, /it has greet/);
    return true;
  });
});

test("F-8 skills are listed", async () => {
  const { agents } = await client().agent.list({ repo: "acme/tools" });
  assert.deepEqual(agents.map((agent) => agent.name), ["greet"]);
  assert.equal(agents[0].variants[0].id, "acme/tools:.agents/skills/greet/SKILL.md");
});
