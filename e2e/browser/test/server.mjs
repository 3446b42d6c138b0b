// A Lineshaft server of one's own: started, called, restarted, stopped.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

export const adminKey = required("LINESHAFT_ADMIN_KEY");

/** How long anything may take before a test gives up on it, in milliseconds. */
export const patience = 60_000;

export function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set; start these tests with e2e/browser/run`);
  return value;
}

/** An address for a server that restarts. It is below the ports that the system gives to connections: one of those could take it meanwhile. */
export async function lastingAddress() {
  for (;;) {
    const listener = net.createServer().listen(12_000 + Math.floor(20_000 * Math.random()), "127.0.0.1");
    const free = await once(listener, "listening").then(() => true, () => false); // or it fails, being taken
    const { port } = listener.address() ?? {};
    listener.close();
    if (free) return `127.0.0.1:${port}`;
  }
}

/** A prompt that the shell harness executes. */
export const shell = (...lines) => ["Please run this:", "```sh", ...lines, "```"].join("\n");

export class Server {
  /** The key that it is called with. */
  key = adminKey;
  #process;
  #log = [];

  /** Starts a server on a free port, with a data folder of its own and any flags besides. */
  static async start({ flags = [], listen = "127.0.0.1:0" } = {}) {
    const server = new Server();
    server.flags = flags;
    server.dataDir = await mkdtemp(path.join(tmpdir(), "lineshaft-page-"));
    await server.#launch(listen);
    return server;
  }

  async #launch(listen) {
    const flags = ["serve", "--listen", listen, "--data-dir", this.dataDir, ...this.flags];
    if (process.env.LINESHAFT_E2E_DATABASE) flags.push("--database", process.env.LINESHAFT_E2E_DATABASE);
    this.#process = spawn(required("LINESHAFT_BIN"), flags, { stdio: ["ignore", "pipe", "pipe"] });
    const ready = new Promise((resolve, reject) => {
      for (const stream of [this.#process.stdout, this.#process.stderr]) {
        createInterface({ input: stream }).on("line", (line) => {
          this.#log.push(line);
          const found = /^Lineshaft .* is ready at (http\S+)$/.exec(line);
          if (found) resolve(found[1]);
        });
      }
      this.#process.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${this.#log.join("\n")}`)));
    });
    this.url = await ready;
  }

  async #end() {
    if (this.#process.exitCode === null) {
      this.#process.kill("SIGTERM");
      await once(this.#process, "exit", { signal: AbortSignal.timeout(patience) });
    }
    if (this.#process.exitCode !== 0) throw new Error(`the server ended with ${this.#process.exitCode}:\n${this.#log.join("\n")}`);
  }

  /** Stops the server and starts it again on the same address. */
  async restart() {
    await this.#end();
    await this.#launch(new URL(this.url).host);
  }

  /** Stops the server; an internal error in its log is a failure that no page showed. */
  async stop() {
    await this.#end();
    await rm(this.dataDir, { recursive: true, force: true });
    const errors = this.#log.filter((line) => /"level":"ERROR"|^panic:|DATA RACE/.test(line));
    if (errors.length > 0) throw new Error(`the server logged:\n${errors.join("\n")}`);
  }

  /** Calls the API with the admin key and gives back the decoded answer. */
  async api(route, { body, method = body === undefined ? "GET" : "POST" } = {}) {
    const response = await fetch(`${this.url}/api/v1${route}`, {
      method,
      headers: { authorization: `Bearer ${this.key}` },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(patience),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async startRun(body) {
    return (await this.api("/agent/runs", { body })).run_id;
  }

  /** Starts a run that stays queued: this worker never comes. */
  parkRun(title, host = "never-connected") {
    return this.startRun({ prompt: "wait", title, config: { worker_host: host } });
  }

  /** Starts many runs that stay queued, some at a time and as cheaply as it goes: fetch costs more than the server does. */
  async parkMany(count) {
    const agent = new http.Agent({ keepAlive: true });
    const park = (title) => new Promise((resolve, reject) => {
      const request = http.request(`${this.url}/api/v1/agent/runs`, { method: "POST", agent, timeout: patience, headers: { authorization: `Bearer ${adminKey}` } }, (response) => {
        response.resume().on("end", () => (response.statusCode === 200 ? resolve() : reject(new Error(`a run of many: ${response.statusCode}`))));
      });
      request.on("timeout", () => request.destroy(new Error("a run of many took too long"))).on("error", reject);
      request.end(JSON.stringify({ prompt: "wait", title, config: { worker_host: "never-connected" } }));
    });
    let next = 0;
    const one = async () => {
      while (next < count) await park(`One of many, ${next++}`);
    };
    await Promise.all(Array.from({ length: 32 }, one));
    agent.destroy();
  }

  cancel(runID) {
    return this.api(`/agent/runs/${runID}/cancel`, { method: "POST" });
  }

  run(runID) {
    return this.api(`/agent/runs/${runID}`);
  }

  async events(runID) {
    return (await this.api(`/agent/runs/${runID}/events?limit=5000`)).events;
  }

  /** Waits for the end of a run: the server closes the event stream then. */
  async ended(runID) {
    const response = await fetch(`${this.url}/api/v1/agent/runs/${runID}/events`, {
      headers: { authorization: `Bearer ${this.key}`, accept: "text/event-stream" },
      signal: AbortSignal.timeout(patience),
    });
    await response.text();
    return this.run(runID);
  }

  /**
   * Lets a run go on that waits with `read line <gate`, a named pipe it made.
   * Opening a pipe for writing waits until somebody reads it, so nobody has to
   * sleep. A gate opens once: the next wait needs another name.
   */
  async openGate(runID, name = "gate", line = "go") {
    const gate = await open(path.join(this.dataDir, "worker", "workspaces", runID, "work", name), constants.O_WRONLY);
    await gate.write(`${line}\n`);
    await gate.close();
  }

  async keyFor(role) {
    return (await this.api("/apikeys", { body: { name: `page ${role}`, role } })).key;
  }
}
