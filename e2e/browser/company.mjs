// A small company's server, made through the API: two factories, what they listen to,
// and runs in every state. screens.mjs takes pictures of it.
import { createHmac, randomUUID } from "node:crypto";
import { Receiver, until } from "./test/receiver.mjs";
import { patience, shell } from "./test/server.mjs";
import { Worker, call, output, result, says } from "./test/worker.mjs";

/** Posts a body to a webhook, and gives back the answer's status. */
async function send(hook, body, headers) {
  const response = await fetch(hook.ingress_url, { method: "POST", headers, body, signal: AbortSignal.timeout(patience) });
  await response.text();
  return response.status;
}

const hex = (secret, text) => createHmac("sha256", secret).update(text).digest("hex");

/** Senders that sign as their providers do. */
export const senders = {
  github: (hook, event, payload, { delivery = randomUUID(), secret = hook.secret } = {}) => {
    const body = JSON.stringify(payload);
    return send(hook, body, { "content-type": "application/json", "x-github-event": event, "x-github-delivery": delivery, "x-hub-signature-256": `sha256=${hex(secret, body)}` });
  },
  stripe: (hook, payload) => {
    const body = JSON.stringify(payload);
    const time = Math.floor(Date.now() / 1000);
    return send(hook, body, { "content-type": "application/json", "stripe-signature": `t=${time},v1=${hex(hook.secret, `${time}.${body}`)}` });
  },
  token: (hook, payload) => send(hook, JSON.stringify(payload), { "content-type": "application/json", authorization: `Bearer ${hook.secret}` }),
};

export const issue = (number, title, labels, author) => ({
  action: "labeled",
  issue: { number, title, state: "open", labels: labels.map((name) => ({ name })), user: { login: author }, html_url: `https://github.com/millrace/shop/issues/${number}` },
  label: { name: labels[0] },
  repository: { full_name: "millrace/shop", name: "shop", owner: { login: "millrace" }, private: true },
  sender: { login: author },
});

async function access(server) {
  const secrets = [
    ["GITHUB_TOKEN", "Clones and pushes to millrace/*", "granted"],
    ["NPM_TOKEN", "Reads our private packages", "runs"],
    ["STRIPE_TEST_KEY", "Test mode only", "granted"],
    ["SENTRY_DSN", "", "runs"],
  ];
  for (const [name, description, access] of secrets) await server.api("/secrets", { body: { name, description, access, value: randomUUID() } });
  const inDays = (days) => new Date(Date.now() + days * 86_400_000).toISOString();
  const keys = [
    { name: "Ada's laptop", role: "admin", owner: { type: "user", display_name: "Ada Lindqvist", email: "ada@millrace.example" } },
    { name: "Release bot", role: "member", expires_at: inDays(90) },
    { name: "Grafana board", role: "viewer", expires_at: inDays(14) },
    { name: "build-01", role: "worker", worker_ids: ["build-01", "build-02"] },
  ];
  for (const body of keys) await server.api("/apikeys", { body });
  const old = await server.api("/apikeys", { body: { name: "Old CI key", role: "member" } });
  await server.api(`/apikeys/${old.id}`, { method: "DELETE" });
}

async function environments(server) {
  const make = async (config) => (await server.api("/agent/environments", { body: { config } })).uid;
  const shop = await make({
    name: "Shop", description: "The web shop and its packages", docker_image: "node:22-bookworm", git_credentials: "GITHUB_TOKEN",
    github_repos: [{ owner: "millrace", repo: "shop" }, { owner: "millrace", repo: "ui-kit" }],
    setup_commands: ["cd shop && npm ci", "cd shop && npm run build:packages"], secrets: [{ name: "NPM_TOKEN" }],
  });
  await make({ name: "Data tools", description: "Python notebooks and reports", github_repos: [{ owner: "millrace", repo: "reports" }], setup_commands: ["pip install -r requirements.txt"] });
  return shop;
}

/** The factory that most pictures are of. */
async function shopFactory(server, environment) {
  const { uid } = await server.api("/factory", { body: { name: "Web shop", alias: "shop", description: "Looks after millrace/shop: triage, fixes, releases." } });
  const at = `/factory/${uid}`;
  await server.api(at, { method: "PATCH", body: { daily_budget: { max_cost_usd: 25 } } });
  const agent = (body) => server.api("/agent/identities", { body: { factory_uid: uid, environment_id: environment, ...body } });
  const fixer = await agent({ name: "fixer", worker_host: "build-02", description: "Fixes bugs and opens pull requests", prompt: "You fix bugs in the web shop.\n\n1. Write a test that fails.\n2. Make it pass with the smallest change.\n3. Open a pull request and say why.", secrets: [{ name: "GITHUB_TOKEN" }] });
  await agent({ name: "reviewer", description: "Reads pull requests before people do", prompt: "Review the pull request. Say what is wrong, not what is fine." });
  await agent({ name: "triage", description: "Labels new issues and asks for what is missing", prompt: "Read the issue. Label it. Ask for steps when there are none." });
  const hook = async (body) => ({ secret: body.secret, ...(await server.api(`${at}/webhooks`, { body })) });
  const hooks = {
    github: await hook({ name: "github", auth_mode: "signature", signature_scheme: "github" }),
    stripe: await hook({ name: "payments", auth_mode: "signature", signature_scheme: "stripe", secret: `whsec_${randomUUID().replaceAll("-", "")}` }),
    token: await hook({ name: "deploys", auth_mode: "token" }),
    sentry: await hook({ name: "errors", auth_mode: "signature", signature_scheme: "sentry" }),
  };
  await hook({ name: "old-ci", auth_mode: "url_token", enabled: false });
  const automate = (name, body) => server.api(`${at}/automations`, { body: { name, ...body } });
  const onWebhook = (name, payload) => [{ provider: "webhook", event: "received", filter: { webhooks: [name], payload } }];
  const fix = await automate("fix-labelled-bugs", {
    agent: "fixer", prompt: "Fix the bug described in event-payload.json, and open a pull request.", config: { worker_host: "build-01" }, max_runs_per_hour: 12,
    concurrency: { key: "issue-{{payload.issue.number}}", policy: "followup" },
    triggers: onWebhook("github", { action: ["labeled"], issue: { state: ["open"], labels: { name: ["bug"] } } }),
  });
  await automate("explain-failed-payment", {
    prompt: ["Say why the payment failed.", shell("echo 'Card declined: insufficient funds (pi_3Q9x).'")].join("\n"),
    triggers: onWebhook("payments", { type: ["payment_intent.payment_failed"] }),
  });
  await automate("check-deploy", { prompt: ["Look at the deploy.", shell("echo 'All probes are green.'")].join("\n"), triggers: onWebhook("deploys", { environment: ["production"], status: ["done", "failed"] }) });
  await automate("review-pull-requests", {
    agent: "reviewer", prompt: "Review the pull request.",
    triggers: [{ provider: "github", event: "pull_request_opened", filter: { repos: ["millrace/*"], base_branches: ["main"] } }],
  });
  await automate("after-a-fix", { agent: "reviewer", prompt: "Check the fix.", triggers: [{ provider: "run", event: "finished", filter: { automations: ["fix-labelled-bugs"], states: ["FAILED"] } }] });
  await automate("weekly-dependencies", {
    agent: "fixer", prompt: "Update the dependencies that have fixes.", enabled: false,
    triggers: [{ provider: "schedule", event: "cron_fired", schedule: { cron: "0 6 * * 1", timezone: "Europe/Stockholm" } }],
  });
  return { uid, hooks, fix, fixer };
}

/** A second factory, written as files, with a revision to go back to. */
async function docsFactory(server) {
  const { uid } = await server.api("/factory", { body: { name: "Handbook", description: "Keeps the handbook true" } });
  const files = {
    "factory.yaml": "schemaVersion: v1alpha1\nname: Handbook\ndescription: Keeps the handbook true\n",
    "agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nYou keep the handbook true. Change as little as you can.\n",
    "automations/nightly-links/automation.md": '---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: "@daily"\n---\nFind links that are broken.\n',
  };
  const apply = (comment) => server.api(`/factory/${uid}/definition/apply`, { body: { files, comment } });
  await apply("First version");
  files["automations/nightly-links/automation.md"] = files["automations/nightly-links/automation.md"].replace("@daily", "30 4 * * 1-5").replace("broken", "broken, and fix those that moved");
  files["agents/editor/agent.md"] = "---\ndescription: Plain words\n---\nYou write plain English. Short sentences.\n";
  await apply("Weekdays only, and an editor");
  return uid;
}

async function schedules(server, shop) {
  const make = (body) => server.api("/agent/schedules", { body });
  const report = await make({ name: "Morning report", cron_schedule: "0 8 * * 1-5", timezone: "Europe/Stockholm", prompt: "Sum up what happened in the shop since yesterday, in five lines.", agent_uid: shop.fixer.uid });
  await make({ name: "Tidy branches", cron_schedule: "@every 6h", prompt: "Delete merged branches.", overlap: "skip" });
  const paused = await make({ name: "Quarterly audit", cron_schedule: "0 9 1 */3 *", prompt: "Audit the licences of our dependencies." });
  await server.api(`/agent/schedules/${paused.id}/pause`, { method: "POST" });
  return report.id;
}

export const usage = (input, written, micros) => ["usage", { model_id: "claude-sonnet-4-5", input_tokens: input, output_tokens: written, cost_micros: micros }];

/** What an agent reports while it fixes a bug. */
async function fix(worker) {
  await worker.tell(
    ["thought", { text: "The total is rounded per line. The tax office wants it rounded once." }],
    says("I can reproduce it: with three items of 0.335 € the cart says **1.02 €**, the invoice says **1.01 €**. The cart rounds each line, the invoice the sum."),
    ["plan", { steps: [{ text: "Write a test that fails", state: "completed" }, { text: "Round once, at the end", state: "completed" }, { text: "Run all tests", state: "in_progress" }, { text: "Open a pull request", state: "pending" }] }],
    call("c1", "bash", { command: "npm test -- cart" }),
    output("> shop@4.12.0 test\n> vitest run cart\n\n FAIL  src/cart/total.test.ts > rounds once\n   expected 1.02 to be 1.01\n\n Tests  1 failed | 23 passed (24)\n", "c1"),
    result("c1", "bash", "failed", { exit_code: 1 }),
  );
  await worker.tell(
    call("c2", "edit", { path: "src/cart/total.ts", old: "  return lines\n    .map((line) => round(line.price * line.count))\n    .reduce(add, 0);", new: "  const sum = lines\n    .map((line) => line.price * line.count)\n    .reduce(add, 0);\n  return round(sum);" }, "files"),
    result("c2", "edit", "completed", { text: "Replaced 1 in src/cart/total.ts." }, "files"),
    call("c3", "bash", { command: "npm test" }),
    output(" Tests  412 passed (412)\n Duration  9.31s\n", "c3"),
    result("c3", "bash", "completed", { exit_code: 0 }),
    usage(48_210, 3_902, 203_160),
  );
}

async function runs(server, shop) {
  const fixed = await Worker.claim(server, { host: "build-01", start: () => senders.github(shop.hooks.github, "issues", issue(812, "Cart total is off by a cent", ["bug"], "maria-k")) });
  await fix(fixed);
  await fixed.tell(
    ["plan", { steps: ["Write a test that fails", "Round once, at the end", "Run all tests", "Open a pull request"].map((text) => ({ text, state: "completed" })) }],
    ["artifact", { type: "PULL_REQUEST", url: "https://github.com/millrace/shop/pull/815" }],
    says("Done. The pull request is [#815](https://github.com/millrace/shop/pull/815).\n\n| | before | after |\n|---|---|---|\n| cart | 1.02 € | 1.01 € |\n| invoice | 1.01 € | 1.01 € |\n\nTwo things to know:\n\n- `round()` is called **once**, in `total.ts`.\n- Saved carts keep their old total until they change."),
    usage(9_120, 811, 39_525),
  );
  await fixed.end();

  /** A run of the fixer: it works where the agent says. */
  const byFixer = (body) => Worker.claim(server, { host: "build-02", start: () => server.startRun({ agent_identity_uid: shop.fixer.uid, ...body }) });
  const asks = await byFixer({ title: "Release 4.12.1", prompt: "Release 4.12.1 from `main`. Ask me before you push." });
  await asks.tell(says("The changelog is written and all 412 tests pass. I would now push the tag."), call("c1", "bash", { command: "git push origin v4.12.1" }), usage(12_400, 1_020, 52_500));
  const asking = asks.ask({ tool_call_id: "c1", title: "bash: git push origin v4.12.1", options: [{ id: "allow", name: "Allow once", kind: "allow_once" }, { id: "always", name: "Always allow", kind: "allow_always" }, { id: "no", name: "Reject", kind: "reject_once" }] });
  asking.catch(() => {}); // a busy machine may lose the run while pictures are taken

  const live = await byFixer({ title: "Cart and invoice differ by a cent", prompt: "A customer in Graz sees 1.02 € in the cart and 1.01 € on the invoice. Find out why and fix it." });
  await fix(live);
  await live.tell(call("c4", "bash", { command: "npm run e2e -- cart" }), output("Running 6 tests using 2 workers\n  ✓ adds an item (1.2s)\n  ✓ takes one out (0.9s)\n", "c4"));

  const broke = await byFixer({ title: "Upgrade the payment library to version 9", prompt: "Upgrade it." });
  await broke.tell(says("Version 9 needs Node 24; the image has 22."), usage(3_100, 240, 12_900));
  await broke.end("FAILED", "The image has Node 22, and version 9 needs 24", "agent_process_failed");
  const lost = await Worker.claim(server, { host: "build-02", title: "Nightly licence check", prompt: "Check." });
  await lost.end("ERROR", "The workspace could not be prepared: no space left on the device", "environment_setup_failed");

  const child = await server.startRun({ title: "Write the release notes", prompt: shell("echo '4.12.1 fixes the total of the cart.'"), parent_run_id: asks.runID });
  await server.ended(child);
  const parked = await server.startRun({ title: "Compare our prices with last year's", prompt: "Compare.", config: { worker_host: "gpu-box" } });
  const stopped = await server.startRun({ title: "Rename the colours of the design system", prompt: "Rename.", config: { worker_host: "build-03" } });
  await server.cancel(stopped);
  for (const [title, line] of [["Sum up the week", "12 fixes, 3 releases, no incident."], ["Count open issues by label", "bug 14, feature 31, question 6"], ["List packages without a licence", "none"]]) {
    await server.ended(await server.startRun({ title, prompt: shell(`echo '${line}'`) }));
  }
  const end = () => Promise.all([server.cancel(asks.runID), asking.catch(() => {})]); // nobody asks a server that stops
  return { end, fixed: fixed.runID, asks: asks.runID, live: live.runID, failed: broke.runID, child, parked };
}

async function deliveries(shop) {
  const { github, stripe, token, sentry } = shop.hooks;
  const delivery = randomUUID();
  await senders.github(github, "issues", issue(813, "Add a dark theme", ["feature"], "jonas"), { delivery });
  await senders.github(github, "issues", issue(813, "Add a dark theme", ["feature"], "jonas"), { delivery });
  await senders.github(github, "issues", issue(814, "Spam", ["bug"], "stranger"), { secret: "not-the-secret" });
  await senders.github(github, "issue_comment", { ...issue(812, "Cart total is off by a cent", ["bug"], "li-wei"), action: "created", label: undefined, comment: { body: "Same here" } });
  const payment = (id, type, amount) => ({ id, type, data: { object: { id: "pi_3Q9x", amount, currency: "eur", last_payment_error: { code: "card_declined" } } } });
  await senders.stripe(stripe, payment("evt_1", "payment_intent.succeeded", 4_290));
  await senders.stripe(stripe, payment("evt_2", "payment_intent.payment_failed", 12_900));
  await senders.token(token, { environment: "staging", status: "done", version: "4.12.1-rc.2" });
  await senders.token(token, { environment: "production", status: "done", version: "4.12.0" });
  await send(sentry, "{}", { "content-type": "application/json" });
}

/** Endpoints that hear of runs: one that takes them, one that is down, one that is gone. */
async function notifications(server) {
  const receiver = await Receiver.start();
  receiver.status = (path) => ({ "/board": 502, "/pager": 410 })[path] ?? 204;
  const at = (name) => receiver.url.replace(/[^/]+$/, name);
  const make = async (body) => (await server.api("/notifications", { body })).id;
  const ends = ["SUCCEEDED", "FAILED", "ERROR", "CANCELLED"];
  const chat = await make({ url: at("chat"), name: "Team chat", description: "Posts to #shop what the agents did", states: [...ends, "BLOCKED"] });
  const board = await make({ url: at("board"), name: "Release board", states: ends });
  const pager = await make({ url: at("pager"), name: "Old pager", states: ["FAILED", "ERROR"] });
  await make({ url: at("warehouse"), name: "Data warehouse", enabled: false });
  await server.api(`/notifications/${pager}/test`, { method: "POST" });
  const log = async (id) => (await server.api(`/notifications/${id}/deliveries`)).deliveries;
  const told = async () => {
    await until(() => log(chat), (list) => list.some((one) => one.status === "delivered"));
    await until(() => log(board), (list) => list.some((one) => one.attempt_count > 0));
    await until(() => server.api(`/notifications/${pager}`), ({ enabled }) => !enabled);
    const of = (list) => list.find((one) => one.attempt_count > 0).id;
    Object.assign(made, { delivered: of(await log(chat)), retried: of(await log(board)) });
  };
  const made = { chat, board, pager, told, at, stop: () => receiver.stop() };
  return made;
}

/** Fills a server and gives back where its things are. */
export async function found(server) {
  await access(server);
  const callbacks = await notifications(server);
  const environment = await environments(server);
  const shop = await shopFactory(server, environment);
  const docs = await docsFactory(server);
  const schedule = await schedules(server, shop);
  const started = await runs(server, shop);
  await deliveries(shop);
  const log = (await server.api(`/factory/${shop.uid}/webhooks/${shop.hooks.github.uid}/deliveries`)).deliveries;
  await callbacks.told();
  return { environment, shop, docs, schedule, runs: started, log, callbacks };
}
