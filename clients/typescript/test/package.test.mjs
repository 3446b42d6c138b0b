import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { version } from "lineshaft";
import { home, project, typeCheck } from "./project.mjs";

const folder = project(after);
const inProject = (name, text) => writeFileSync(join(folder, name), text);
const node = (...args) => execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

test("I3 the package has what it needs and nothing else", () => {
  const manifest = JSON.parse(readFileSync(join(folder, "node_modules/lineshaft/package.json"), "utf8"));
  assert.equal(manifest.dependencies, undefined);
  assert.equal(manifest.version, version);
  const top = readdirSync(join(folder, "node_modules/lineshaft")).sort();
  assert.deepEqual(top, ["LICENSE", "README.md", "dist", "package.json"]);
});

test("I3 packing a fresh clone builds it", () => {
  const clone = join(folder, "clone/clients/typescript");
  const left = ["dist", "node_modules", "LICENSE", "test"].map((name) => join(home, name));
  cpSync(home, clone, { recursive: true, filter: (from) => !left.includes(from) });
  symlinkSync(join(home, "node_modules"), join(clone, "node_modules"));
  copyFileSync(join(home, "../../LICENSE"), join(folder, "clone/LICENSE"));
  const options = { cwd: clone, encoding: "utf8" };
  const [packed] = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], options));
  const names = packed.files.map((file) => file.path);
  for (const name of ["dist/esm/index.js", "dist/cjs/index.js", "dist/esm/index.d.ts", "LICENSE"]) assert.ok(names.includes(name), name);
});

test("I3 nothing of Node is imported", () => {
  const dist = join(folder, "node_modules/lineshaft/dist");
  const files = readdirSync(dist, { recursive: true }).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 50);
  for (const name of files) {
    const text = readFileSync(join(dist, name), "utf8");
    const imported = [...text.matchAll(/^(?:import|export) .*? from "(.*?)"|\brequire\("(.*?)"\)/gms)].map((match) => match[1] ?? match[2]);
    for (const from of imported) assert.ok(from.startsWith("."), `${name} imports ${from}`);
    assert.doesNotMatch(text.replaceAll(/"[^"\n]*"|'[^'\n]*'/g, ""), /\b(Buffer|__dirname)\b/, name);
  }
});

test("I3 import and require give the same things", () => {
  const names = 'console.log(JSON.stringify([{...a}, {...b}, {...c}].map((m) => Object.keys(m).filter((k) => k !== "__esModule").sort())))';
  inProject("esm.mjs", `import * as a from "lineshaft";import * as b from "lineshaft/webhooks";import * as c from "lineshaft/callbacks";${names}`);
  inProject("cjs.cjs", `const a = require("lineshaft"), b = require("lineshaft/webhooks"), c = require("lineshaft/callbacks");${names}`);
  const [esm, cjs] = [node("esm.mjs"), node("cjs.cjs")];
  assert.equal(esm, cjs);
  assert.match(esm, /"Lineshaft".*"sign".*"verifyCallback"/s);
});

const consumer = `
import { APIPromise, Lineshaft, NotFoundError, type Run, type RunEvent, type RunState } from "lineshaft";
import { sign } from "lineshaft/webhooks";
import { verifyCallback } from "lineshaft/callbacks";

const client = new Lineshaft({ baseURL: "http://127.0.0.1:1", apiKey: "ls_x" });

export async function use(): Promise<void> {
  const started = await client.runs.create({ prompt: "x", config: { model_id: "m", harness: { type: "shell" } }, title: undefined });
  const id: string = started.run_id;
  // @ts-expect-error: no such field
  await client.runs.create({ promt: "x" });
  // @ts-expect-error: a number is no prompt
  await client.runs.create({ prompt: 3 });
  // @ts-expect-error: no such state
  client.runs.list({ state: ["SUCCEEDED", "DONE"] });
  // @ts-expect-error: an id is needed
  client.runs.get();
  // @ts-expect-error: the title may be anything, but the state is no number
  const n: number = (await client.runs.get(id)).state;
  for await (const run of client.runs.list({ state: ["FAILED"], created_after: new Date() })) {
    const known: RunState | string = run.state;
    const one: Run = run;
    if (run.state === "SUCCEEDED" || run.state === "A_NEW_ONE") console.log(known, one.title, n);
  }
  for await (const event of client.runs.stream(id)) show(event);
  const done: Run = await client.runs.wait(id, { timeout: 1 });
  const call: APIPromise<Run> = client.runs.get(done.run_id);
  const { data, response } = await call.withResponse();
  console.log(data.title, response.status, await client.get<{ role: string }>("/whoami").then((who) => who.role));
  const headers: Record<string, string> = await sign({ scheme: "github", secret: "s", body: new Uint8Array() });
  // @ts-expect-error: no such scheme
  await sign({ scheme: "gitbub", secret: "s", body: "" });
  const callback = await verifyCallback(["a", "b"], headers, "");
  if (callback.type === "run.state_changed") console.log(callback.data.run_id satisfies string);
  try {
    await client.runs.delete(id);
  } catch (error) {
    if (error instanceof NotFoundError) console.log(error.code, error.retryAfter?.toFixed());
  }
}

function show(event: RunEvent): void {
  if (event.type === "output") console.log(event.data.text, event.data.stream);
  // @ts-expect-error: a state has no text
  if (event.type === "state") console.log(event.data.text);
}
`;

test("I3 a strict consumer type-checks, and its mistakes do not", () => {
  inProject("consumer.mts", consumer);
  inProject("consumer.cts", consumer);
  inProject("consumer.ts", consumer);
  assert.equal(typeCheck(folder, "node16", "consumer.mts", "consumer.cts"), "");
  assert.equal(typeCheck(folder, "bundler", "consumer.ts"), "");
  inProject("wrong.mts", consumer.replaceAll(/^.*@ts-expect-error.*$/gm, ""));
  assert.equal((typeCheck(folder, "node16", "wrong.mts").match(/error TS/g) ?? []).length, 7);
});

test("I3 every example of the README type-checks", () => {
  const blocks = [...readFileSync(join(home, "README.md"), "utf8").matchAll(/```ts\n(.*?)```\n/gs)].map((match) => match[1]);
  assert.ok(blocks.length >= 7);
  const imports = blocks.join("").match(/^import .*$/gm).join("\n");
  const bodies = blocks.map((block) => block.replaceAll(/^import .*\n/gm, ""));
  const shared = bodies.map((body, i) => (i === 0 ? body : `{\n${body.replaceAll(/^export /gm, "")}}\n`)).join("");
  inProject("readme.mts", `declare const process: { env: Record<string, string | undefined> };\n${imports}\n${shared}export {};\n`);
  assert.equal(typeCheck(folder, "node16", "readme.mts"), "");
});

test("I3 what is generated is what api/ says", () => {
  execFileSync(process.execPath, ["scripts/generate.mjs", "--check"], { cwd: home, stdio: "inherit" });
});

// The types of the examples whose name does not tell it.
const typesOf = {
  attachments_response: "HandoffAttachmentsResponse",
  audit_response: "ListAuditResponse",
  create_apikey_request: "CreateAPIKeyRequest",
  create_apikey_response: "CreatedAPIKey",
  create_notification_response: "IssuedNotification",
  create_schedule_request: "CreateScheduledAgentRequest",
  create_webhook_response: "IssuedWebhook",
  delivery: "DeliveryDetail",
  environment: "CloudEnvironment",
  notification_delivery: "NotificationDeliveryDetail",
  follow_repository_request: "UpdateFactoryRequest",
  list_apikeys_response: "ListAPIKeysResponse",
  list_schemas_response: "SchemaDocuments",
  list_schedules_response: "ListScheduledAgentsResponse",
  models_response: "ListModelsResponse",
  replay_notification_response: "NotificationDelivery",
  repository_factory: "Factory",
  revision: "DefinitionRevisionDetail",
  run_events_response: "ListRunEventsResponse",
  schedule: "ScheduledAgentItem",
  schema_versions_response: "SchemaVersions",
  test_notification_response: "NotificationDelivery",
  unlink_repository_request: "UpdateFactoryRequest",
  update_schedule_request: "UpdateScheduledAgentRequest",
  validate_definition_request: "DefinitionRequest",
  validate_files_request: "PublishedFolder",
  workers_response: "ListWorkersResponse",
};

test("I3 every example of the API is of its type", () => {
  const examples = join(home, "../../api/examples");
  const known = new Set(readFileSync(join(home, "src/generated/types.ts"), "utf8").match(/(?<=^export (?:interface|type) )\w+/gm));
  const names = readdirSync(examples).filter((file) => file.endsWith(".json")).map((file) => file.replace(".json", ""));
  assert.ok(names.length > 60);
  const lines = names.map((name) => {
    const type = typesOf[name] ?? name.replace(/(^|_)(\w)/g, (_, __, letter) => letter.toUpperCase());
    assert.ok(known.has(type), `api/examples/${name}.json: name its type in typesOf`);
    return `export const ${name}: api.${type} = ${readFileSync(join(examples, `${name}.json`), "utf8")};\n`;
  });
  inProject("examples.mts", `import type * as api from "lineshaft";\n${lines.join("")}`);
  assert.equal(typeCheck(folder, "node16", "examples.mts"), "");
});

test("I3 the example of docs/clients.md runs on a server without a model", () => {
  const [, example] = readFileSync(join(home, "../../docs/clients.md"), "utf8").match(/```ts\n(.*?)\n```\n/s);
  inProject("docs.mjs", example);
  inProject("docs.ts", example);
  assert.equal(typeCheck(folder, "bundler", "docs.ts"), "");
  assert.match(node("docs.mjs"), /^hello\nSUCCEEDED/);
});

test("I3 a build without the compiler says what to do", () => {
  mkdirSync(join(folder, "tree/scripts"), { recursive: true });
  copyFileSync(join(home, "scripts/build.mjs"), join(folder, "tree/scripts/build.mjs"));
  const { status, stderr } = spawnSync(process.execPath, [join(folder, "tree/scripts/build.mjs")], { encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, /^The compiler is not here yet: run `npm ci` .*\n$/);
});
