// A server with one of everything, named by somebody with bad intentions, and the
// address of every route of the dashboard in it. internal/web holds routes.json to be
// the table of the server.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { member } from "./browser.mjs";
import { Receiver, allowPrivate, until } from "./receiver.mjs";
import { signedWebhook } from "./sender.mjs";
import { shell } from "./server.mjs";
import { Worker, call, output, result, says } from "./worker.mjs";

/** What a text can try: elements, scripts, templates, and marks that turn the line around. */
export const hostile = [
  "</title></bdi></a></td></tr></table></textarea><script>window.hacked=1</script>",
  `"'><img src=x onerror="window.hacked=1"><svg onload=window.hacked=1>`,
  "{{.Data}} ${window.hacked=1} javascript:window.hacked=1 &lt;b&gt;",
  "abc \u2066\u202edcba \u200fשלום",
].join(" ");

/** The codes of a terminal, which only longer texts may have. */
export const codes = "\u001b[31mred\u001b[0m \u001b]8;;javascript:window.hacked=1\u0007link\u001b]8;;\u0007 \u001b[2J";

const patterns = JSON.parse(readFileSync(new URL("../routes.json", import.meta.url)));

// What is not a page of its own, and the page or the test that shows it.
const pieces = [
  "GET /runs/rows", "GET /runs/{id}/items", "GET /schedules/fires", "GET /workers/now",
  "GET /factories/{factory}/webhooks/{webhook}/deliveries",
  "GET /factories/{factory}/webhooks/{webhook}/deliveries/{delivery}/outcomes",
  "GET /factories/{factory}/webhooks/{webhook}/deliveries/{delivery}/peek",
  "GET /factories/{factory}/webhooks/{webhook}/first",
];
const streams = ["GET /runs/live", "GET /runs/{id}/events"];
const files = [
  "GET /audit/export", "GET /costs/export", "GET /factories/{factory}/export", "GET /runs/export", "GET /runs/{id}/log",
  "GET /factories/{factory}/webhooks/{webhook}/deliveries/{delivery}/payload",
];
const ways = ["GET /factories/{factory}/webhooks", "GET /runs/{id}/find"]; // lead on to another page
// oidc.test.mjs, and internal/web/download_test.go, which needs runs with files.
const elsewhere = ["GET /login/oidc", "GET /login/oidc/callback", "GET /runs/{id}/artifacts/{uid}", "GET /runs/{id}/attachments/{uid}"];

const apart = new Set([...pieces, ...streams, ...files, ...ways, ...elsewhere]);
for (const pattern of apart) assert.ok(patterns.includes(pattern), `${pattern} is gone from routes.json`);

/** The routes that are pages. */
export const pageRoutes = patterns.filter((pattern) => pattern.startsWith("GET ") && !apart.has(pattern));

/** The route of an address, of those that are pages; one with fewer names in braces goes first. */
export const routeOf = (() => {
  const names = (route) => route.split("{").length;
  const routes = pageRoutes.map((route) => route.slice("GET ".length)).sort((a, b) => names(a) - names(b));
  const fits = new Map(routes.map((route) => [route, new RegExp(`^${route.replace("{$}", "").replace(/\{\w+\}/g, "[^/]+")}$`)]));
  return (address) => routes.find((route) => fits.get(route).test(address));
})();

/** The routes that are no pages of their own. */
export const otherRoutes = patterns.filter((pattern) => pattern.startsWith("GET ") && apart.has(pattern));

// What a route needs besides the ids in its address.
const questions = {
  "GET /runs/cancel": (w) => `?id=${w.ids.run}`,
  "GET /search": () => `?q=${encodeURIComponent(hostile.slice(0, 60))}`,
  "GET /schedules/fires": () => `?cron=${encodeURIComponent(hostile)}&timezone=UTC`,
};

/** One of everything. */
export class World {
  /** What its server has to be started with. */
  static flags = allowPrivate;

  /** Values that were shown once and must not be shown again. */
  secrets = {};

  static async make(server, browser) {
    const world = new World();
    world.server = server;
    await world.#build();
    await world.#work();
    await world.#visit(browser);
    return world;
  }

  async #build() {
    const { server } = this;
    const api = server.api.bind(server);
    const factory = await api("/factory", { body: { name: hostile.slice(0, 100), description: `${hostile} ${codes}` } });
    const at = `/factory/${factory.uid}`;
    await api(at, { method: "PATCH", body: { description: hostile } });
    await api("/factory", { body: { name: "Another", description: hostile } }); // with one alone, nobody has to choose
    const followed = await api("/factory", { body: { name: "Follows a repository" } });
    await api(`/factory/${followed.uid}`, { method: "PATCH", body: { repository: { url: "https://127.0.0.1:1/owner/repo.git", branch: "main" } } });
    const tools = { tracker: { url: "https://tracker.example/mcp", headers: { "X-Team": hostile } } };
    const agent = await api("/agent/identities", { body: { name: "reviewer", factory_uid: factory.uid, prompt: `${hostile} ${codes}`, description: hostile, mcp_servers: tools } });
    this.hook = await signedWebhook(server, factory.uid, "issues");
    this.secrets.webhook = this.hook.secret;
    const open = await api(`${at}/webhooks`, { body: { name: "address with a token", auth_mode: "url_token" } });
    this.secrets.address = open.ingress_url;
    const automation = await api(`${at}/automations`, {
      body: {
        name: "triage", prompt: `${hostile} ${codes}`, config: { worker_host: "never-connected" },
        triggers: [{ provider: "webhook", event: "received", filter: { webhook_ids: [this.hook.uid], payload: { title: [hostile] } } }],
      },
    });
    const delivery = await this.hook.send("issues", { title: hostile, codes, line: hostile.repeat(1000) });
    this.secrets.value = "value-that-nobody-may-read-again";
    await api("/secrets", { body: { name: "WORLD_TOKEN", value: this.secrets.value, description: hostile } });
    const environment = await api("/agent/environments", { body: { config: { name: hostile.slice(0, 100), description: hostile, setup_commands: [hostile], secrets: [{ name: "WORLD_TOKEN" }] } } });
    const schedule = await api("/agent/schedules", { body: { name: hostile.slice(0, 100), cron_schedule: "@daily", prompt: `${hostile} ${codes}` } });
    const key = await api("/apikeys", { body: { name: hostile.slice(0, 100), role: "viewer" } });
    this.secrets.key = key.key;
    const notification = await this.#callback();
    this.ids = {
      notification: notification.id, callback: notification.delivery,
      factory: factory.uid, followed: followed.uid, agent: agent.uid, webhook: this.hook.uid, delivery, automation: automation.uid,
      secret: "WORLD_TOKEN", environment: environment.uid, schedule: schedule.id, key: key.id,
    };
  }

  /** An endpoint that was given up after a test: it is gone. */
  async #callback() {
    const api = this.server.api.bind(this.server);
    const receiver = await Receiver.start();
    receiver.status = 410;
    const made = await api("/notifications", {
      body: { url: `${receiver.url}?q=${encodeURIComponent(hostile)}`, name: hostile.slice(0, 100), description: hostile, run_name: hostile.slice(0, 100) },
    });
    this.secrets.callback = made.secret;
    const { id: delivery } = await api(`/notifications/${made.id}/test`, { method: "POST" });
    await until(() => api(`/notifications/${made.id}`), ({ enabled }) => !enabled);
    await receiver.stop();
    return { id: made.id, delivery };
  }

  /** A run that has said and done everything, and waits to be told more. */
  async #work() {
    this.worker = await Worker.claim(this.server, { title: hostile.slice(0, 200), prompt: `${hostile} ${codes}`, config: { environment_id: this.ids.environment } });
    await this.worker.tell(says(`${hostile} ${codes}`), ["thought", { text: hostile }], ["plan", { steps: [{ text: hostile, state: "pending" }] }]);
    await this.worker.tell(call("c1", "edit", { path: hostile, old: hostile, new: `${hostile}!` }, "files"), result("c1", "edit", "completed", { text: hostile }, "files"));
    await this.worker.tell(call("c2", hostile.slice(0, 60), { command: hostile }), output(`${hostile} ${codes}\n`, "c2"), result("c2", hostile.slice(0, 60), "failed", { exit_code: 1 }));
    await this.worker.tell(["notice", { level: "warning", text: hostile }], ["usage", { model_id: hostile.slice(0, 60), input_tokens: 1, output_tokens: 1 }]);
    this.ids.run = this.worker.runID;
    await this.server.ended(await this.server.startRun({ title: hostile.slice(0, 200), prompt: shell("exit 3") })); // needs attention
    this.ids.waiting = await this.server.parkRun(hostile.slice(0, 200), `waits-for-${process.pid}`);
  }

  /** Somebody else who is signed in, with a browser that lies about its name. */
  async #visit(browser) {
    this.other = await member(browser, this.server.url, { userAgent: hostile.replace(/[^ -~]/g, "") });
    this.secrets.session = (await this.other.context.cookies()).find((cookie) => cookie.name.includes("session")).value;
    const { context } = await member(browser, this.server.url);
    const list = await (await context.request.get("/sessions")).text();
    this.ids.session = /\/sessions\/([^/"]+)\/end"/.exec(list)[1]; // one's own has no such link
    await context.close();
  }

  /** The address of a route here. */
  at(pattern) {
    const [method, route] = pattern.split(" ");
    const { ids } = this;
    const own = { agents: ids.agent, environments: ids.environment, keys: ids.key, notifications: ids.notification, runs: ids.run, schedules: ids.schedule, sessions: ids.session, secrets: ids.secret, workers: "hosted" };
    const path = route
      .replace("{$}", "")
      .replace("{factory}", route.includes("/repository/") ? ids.followed : ids.factory)
      .replace("/automations/{uid}", `/automations/${ids.automation}`)
      .replace("{webhook}", ids.webhook)
      .replace("{delivery}", route.startsWith("/notifications/") ? ids.callback : ids.delivery)
      .replace("{number}", "1")
      .replace(/^\/(\w+)\/\{(uid|id|name)\}/, (_, noun) => `/${noun}/${own[noun]}`);
    assert.doesNotMatch(path, /\{|undefined/, `world.mjs does not say where ${pattern} is`);
    return path + (method === "GET" ? (questions[pattern]?.(this) ?? "") : "");
  }

  #places(list) {
    return Object.fromEntries(list.map((pattern) => [pattern.slice("GET ".length), this.at(pattern)]));
  }

  /** Every page: its route and its address. */
  get pages() {
    return this.#places(pageRoutes);
  }

  /** Parts of pages, and files to save. */
  get pieces() {
    return this.#places(pieces);
  }

  get files() {
    return this.#places(files);
  }

  /** Every address that changes something, by its route. */
  get changes() {
    return Object.fromEntries(patterns.filter((pattern) => pattern.startsWith("POST ")).map((pattern) => [pattern, this.at(pattern)]));
  }

  /** All that a change could change, as the API tells it. */
  async state() {
    const { server, ids } = this;
    const at = `/factory/${ids.factory}`;
    const routes = [
      "/agent/runs", "/factory", at, `${at}/definition/revisions`, `${at}/automations`, `${at}/webhooks`, `${at}/webhooks/${ids.webhook}/deliveries`,
      `/factory/${ids.followed}`, "/agent/identities", "/agent/environments", "/agent/schedules", "/secrets", "/apikeys",
      "/notifications", `/notifications/${ids.notification}/deliveries`, `/agent/runs/${ids.run}/events`,
    ];
    const known = await Promise.all(routes.map(async (route) => [route, await server.api(route)]));
    // When somebody or something was last seen is no change.
    const passing = new Set(["last_used_at", "last_active_at", "next_attempt_at", "synced_at", "checked_at", "last_error", "health"]);
    return JSON.parse(JSON.stringify(Object.fromEntries(known), (name, value) => (passing.has(name) ? undefined : value)));
  }

  async close() {
    await this.other.context.close();
    await this.server.cancel(this.ids.run);
  }
}
