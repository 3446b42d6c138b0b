// One run, from creation to its end, through the published client.
import assert from "node:assert/strict";
import test from "node:test";
import OzAPI from "oz-agent-sdk";
import { differences } from "./shape.mjs";
import { adminKey, client, ended, eventsUntilEnd, parked, server, shell, unique } from "./support.mjs";

const { agent } = client();

const fits = (type, value, file = "runs") => assert.deepEqual(differences(file, type, value), []);

const start = (body) => agent.run(body);

test("R-1 agent.run answers with a queued run", async () => {
  const started = await start({ prompt: "hello", config: parked(unique("start")) });
  fits("AgentRunResponse", started, "agent");
  assert.equal(started.state, "QUEUED");
  assert.equal(started.task_id, started.run_id);
  await agent.runs.cancel(started.run_id);
});

test("the client finds server and key in its own environment variables", async () => {
  process.env.OZ_API_BASE_URL = `${server}/api/v1`;
  process.env.WARP_API_KEY = adminKey;
  const page = await new OzAPI().agent.runs.list({ limit: 1, name: unique("nobody") }); // runs of other tests are theirs to check
  fits("RunListResponse", page);
});

test("R-5 retrieve gives back what was asked for", async () => {
  const name = unique("retrieve");
  const config = {
    ...parked(name),
    model_id: "some-model",
    base_prompt: "Be brief.",
    mcp_servers: { docs: { url: "https://docs.example/mcp", headers: { "X-Key": "{{DOCS_KEY}}" } }, local: { command: "tool", args: ["-v"] } },
  };
  const { run_id } = await start({ prompt: "line one\nline two", title: "A title", config, metadata: { ticket: "T-1" } });
  const run = await agent.runs.retrieve(run_id);
  fits("RunItem", run);
  assert.equal(run.run_id, run_id);
  assert.equal(run.task_id, run_id);
  assert.equal(run.root_run_id, run_id);
  assert.equal(run.title, "A title");
  assert.equal(run.prompt, "line one\nline two");
  assert.equal(run.state, "QUEUED");
  assert.equal(run.source, "API");
  assert.equal(run.started_at, null);
  assert.equal(run.finished_at, null);
  assert.deepEqual(run.metadata, { ticket: "T-1" });
  assert.equal(run.agent_config.name, name);
  assert.equal(run.agent_config.model_id, "some-model");
  assert.equal(run.agent_config.base_prompt, "Be brief.");
  assert.equal(run.agent_config.worker_host, "never-connected");
  assert.deepEqual(Object.keys(run.agent_config.mcp_servers).sort(), ["docs", "local"]);
  assert.equal(run.agent_config.mcp_servers.docs.url, "https://docs.example/mcp");
  assert.deepEqual(run.agent_config.mcp_servers.local.args, ["-v"]);
  assert.match(run.session_link, new RegExp(`/runs/${run_id}$`));
  assert.equal(run.creator.type, "user");
  await agent.runs.cancel(run_id);
});

test("R-2 a title is made from the first line of the prompt", async () => {
  const { run_id } = await start({ prompt: "Fix the roof\nbefore winter", config: parked(unique("title")) });
  assert.equal((await agent.runs.retrieve(run_id)).title, "Fix the roof");
  await agent.runs.cancel(run_id);
});

test("X-6 a run with a shell block executes and succeeds with its output", async () => {
  const { run_id } = await start({ prompt: shell('echo "out $((6 * 7))"', "echo to-stderr >&2", 'echo "$LINESHAFT_RUN_ID"'), config: { name: unique("shell") } });
  const events = await eventsUntilEnd(run_id);
  const output = (stream) => events.filter((e) => e.type === "output" && e.data.stream === stream).map((e) => e.data.text).join("");
  assert.equal(output("stdout"), `out 42\n${run_id}\n`);
  assert.equal(output("stderr"), "to-stderr\n");
  assert.deepEqual(events.map((e) => e.sequence), events.map((_, index) => index + 1));
  const run = await agent.runs.retrieve(run_id);
  fits("RunItem", run);
  assert.equal(run.state, "SUCCEEDED");
  assert.ok(run.started_at >= run.created_at, "started before it was created");
  assert.ok(run.finished_at >= run.started_at, "finished before it was started");
  assert.match(run.run_time, /^PT/);
});

test("a run whose shell block fails is FAILED and says why", async () => {
  const { run_id } = await start({ prompt: shell("exit 3"), config: { name: unique("fails") } });
  const run = await ended(run_id);
  assert.equal(run.state, "FAILED");
  assert.equal(run.status_message.error_code, "agent_process_failed");
  assert.match(run.status_message.message, /3/);
  fits("RunItem", run);
});

test("R-11 files that a run leaves are artifacts and can be downloaded", async () => {
  const { run_id } = await start({ prompt: shell('printf "the report" >"$LINESHAFT_ARTIFACTS/report.txt"'), config: { name: unique("artifact") } });
  const { artifacts, ...run } = await ended(run_id);
  // This client was published before there were FILE artifacts; the rest must fit its types.
  fits("RunItem", run);
  assert.equal(artifacts.length, 1);
  assert.equal(artifacts[0].artifact_type, "FILE");
  assert.equal(artifacts[0].data.filename, "report.txt");
  const text = await client().get(`/agent/artifacts/${artifacts[0].data.artifact_uid}/download`);
  assert.equal(text, "the report");
});

test("R-7 cancel gives the decoded run id and ends the run", async () => {
  const { run_id } = await start({ prompt: "wait", config: parked(unique("cancel")) });
  assert.equal(await agent.runs.cancel(run_id), run_id);
  const run = await agent.runs.retrieve(run_id);
  fits("RunItem", run);
  assert.equal(run.state, "CANCELLED");
  assert.notEqual(run.finished_at, null);
});

test("R-7 cancel ends a run that is executing", async () => {
  const { run_id } = await start({ prompt: shell("mkfifo gate", "echo started", "read never <gate"), config: { name: unique("cancel-live") } });
  await firstOutput(run_id);
  assert.equal(await agent.runs.cancel(run_id), run_id);
  assert.equal((await ended(run_id)).state, "CANCELLED");
});

test("R-6 a follow-up, over the client's call for undocumented routes, is one more turn", async () => {
  const { run_id } = await start({ prompt: shell("echo first"), config: { name: unique("followup") } });
  await ended(run_id);
  const answer = await client().post(`/agent/runs/${run_id}/followups`, { body: { message: shell("echo second") } });
  assert.equal(answer.outcome, "handoff_execution");
  const events = await eventsUntilEnd(run_id);
  assert.equal(events.filter((e) => e.type === "output").map((e) => e.data.text).join(""), "first\nsecond\n");
  assert.equal((await agent.runs.retrieve(run_id)).state, "SUCCEEDED");
});

test("R-10 timeline, conversation, transcript and events of a run", async () => {
  const { run_id } = await start({ prompt: shell("echo told"), config: { name: unique("story") } });
  const run = await ended(run_id);
  const { events } = await client().get(`/agent/runs/${run_id}/timeline`);
  assert.equal(events[0].event_type, "oz_run_created");
  assert.equal(events.at(-1).event_type, "oz_run_done");
  const conversation = await client().get(`/agent/runs/${run_id}/conversation`);
  assert.equal(conversation.conversation_id, run.conversation_id);
  assert.match(JSON.stringify(conversation.steps), /told/);
  assert.deepEqual(await client().get(`/agent/conversations/${run.conversation_id}`), conversation);
  const transcript = await client().get(`/agent/runs/${run_id}/transcript`);
  assert.ok(transcript.trim().split("\n").every((line) => JSON.parse(line)), "the transcript is not JSON lines");
  const page = await client().get(`/agent/runs/${run_id}/events`, { query: { after: 2, limit: 1 } });
  assert.equal(page.events.length, 1);
  assert.equal(page.events[0].sequence, 3);
});

test("older names of the routes still work", async () => {
  const { run_id } = await client().post("/agent/runs", { body: { prompt: "old", config: parked(unique("task")) } });
  assert.equal((await client().get(`/agent/tasks/${run_id}`)).run_id, run_id);
  assert.equal(await client().post(`/agent/tasks/${run_id}/cancel`), run_id);
});

test("a conversation is continued by a run that names it", async () => {
  const first = await ended((await start({ prompt: shell("echo one"), config: { name: unique("talk") } })).run_id);
  const { run_id } = await start({ prompt: shell("echo two"), conversation_id: first.conversation_id });
  assert.equal((await ended(run_id)).conversation_id, first.conversation_id);
});

async function firstOutput(runID) {
  const stop = new AbortController();
  const response = await fetch(`${server}/api/v1/agent/runs/${runID}/events`, {
    headers: { authorization: `Bearer ${adminKey}`, accept: "text/event-stream" },
    signal: stop.signal,
  });
  let text = "";
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/^event: output$/m.test(text)) return;
  }
  throw new Error(`run ${runID} ended without output`);
}
