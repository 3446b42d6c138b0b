// Schedules, from creation to deletion, through the published client.
import assert from "node:assert/strict";
import test from "node:test";
import * as sdk from "oz-agent-sdk";
import { differences } from "./shape.mjs";
import { client, keyFor, parked, unique } from "./support.mjs";

const { schedules } = client().agent;
const whole = { cron_schedule: "0 9 * * 1-5", prompt: "look", enabled: true };
const unknown = "01980f13-0000-7000-8000-000000000000";

const fits = (type, value) => assert.deepEqual(differences("schedules", type, value), []);

test("F-9 a schedule from creation to deletion", async () => {
  const name = unique("schedule");
  const made = await schedules.create({ ...whole, name, agent_config: parked(name), timezone: "Europe/Berlin", overlap: "skip" });
  fits("ScheduledAgentItem", made);
  assert.equal(made.name, name);
  assert.equal(made.history.last_ran, null);
  assert.ok(new Date(made.history.next_run) > new Date());
  assert.equal(made.agent_config.worker_host, "never-connected");
  assert.equal(made.last_spawn_error, null);
  assert.equal(made.timezone, "Europe/Berlin");
  assert.deepEqual(await schedules.retrieve(made.id), made);

  const changed = await schedules.update(made.id, { ...whole, name, cron_schedule: "@daily" });
  fits("ScheduledAgentItem", changed);
  assert.equal(changed.cron_schedule, "@daily");
  assert.equal(changed.timezone, undefined);

  const paused = await schedules.pause(made.id);
  fits("ScheduledAgentItem", paused);
  assert.equal(paused.enabled, false);
  assert.equal(paused.history.next_run, null);
  const resumed = await schedules.resume(made.id);
  fits("ScheduledAgentItem", resumed);
  assert.equal(resumed.enabled, true);

  const gone = await schedules.delete(made.id);
  fits("ScheduleDeleteResponse", gone);
  assert.equal(gone.success, true);
  await assert.rejects(schedules.retrieve(made.id), sdk.NotFoundError);
});

test("F-9 the list is by name", async () => {
  const word = unique("list");
  const ids = [];
  for (const letter of "cab") ids.push((await schedules.create({ ...whole, name: `${word}-${letter}` })).id);
  const list = await schedules.list();
  fits("ScheduleListResponse", list);
  const found = list.schedules.filter((item) => item.name.startsWith(word)).map((item) => item.id);
  assert.deepEqual(found, [ids[1], ids[2], ids[0]]);
  for (const id of ids) await schedules.delete(id);
});

test("F-9 404 for an unknown schedule, 400 for a bad one, 403 for members", async () => {
  for (const call of [
    () => schedules.retrieve(unknown),
    () => schedules.update(unknown, { ...whole, name: "n" }),
    () => schedules.delete(unknown),
    () => schedules.pause(unknown),
    () => schedules.resume(unknown),
  ]) {
    await assert.rejects(call(), sdk.NotFoundError);
  }
  await assert.rejects(schedules.create({ ...whole, name: "n", cron_schedule: "61 * * * *" }), sdk.BadRequestError);
  const member = client({ apiKey: await keyFor("member") }).agent.schedules;
  await member.list();
  await assert.rejects(member.create({ ...whole, name: "n" }), sdk.PermissionDeniedError);
});
