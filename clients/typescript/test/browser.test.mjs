// Tries the ES modules in a browser, on a page of another origin than the server's, which
// allows it with --cors-origin. It starts its own server: LINESHAFT_BIN.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import test from "node:test";
import { chromium } from "playwright-core";
import { home } from "./project.mjs";

const programs = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const program = process.env.LINESHAFT_CHROMIUM || programs.find(existsSync) || programs[0];
const skip = !process.env.LINESHAFT_BIN
  ? "LINESHAFT_BIN is not set; test/run sets it"
  : existsSync(program)
    ? false
    : `there is no browser at ${program}; scripts/install-deps installs one`;
const apiKey = `ls_${"0123456789abcdef".repeat(3)}`;

/** Serves a page and the built modules, and nothing else. */
async function pageServer(t) {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url, "http://x").pathname);
    if (path === "/") return response.setHeader("content-type", "text/html").end("<!doctype html><title>page</title>");
    const file = join(home, path);
    if (!path.startsWith("/dist/esm/") || !existsSync(file)) return response.writeHead(404).end();
    response.setHeader("content-type", "text/javascript").end(readFileSync(file));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

/** Starts a server that allows pages of an origin; returns its address. */
async function lineshaft(t, origin) {
  const data = mkdtempSync(join(tmpdir(), "lineshaft-browser-"));
  const args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data, "--cors-origin", origin];
  const server = spawn(process.env.LINESHAFT_BIN, args, { env: { ...process.env, LINESHAFT_ADMIN_KEY: apiKey }, stdio: ["ignore", "pipe", "pipe"] });
  t.after(async () => {
    server.kill();
    if (server.exitCode === null) await once(server, "exit");
    rmSync(data, { recursive: true, force: true });
  });
  let text = "";
  for await (const chunk of server.stdout) {
    const [, address] = (text += chunk).match(/ is ready at (\S+)/) ?? [];
    if (address) return keepReading(server, address);
  }
  throw new Error(`the server did not get ready: ${text}`);
}

function keepReading(server, address) {
  server.stderr.resume();
  return address;
}

/** Runs in the page. */
async function inPage({ baseURL, apiKey }) {
  const { Lineshaft, NotFoundError } = await import("/dist/esm/index.js");
  const { sign } = await import("/dist/esm/webhooks.js");
  const client = new Lineshaft({ baseURL, apiKey });
  const { run_id } = await client.runs.create({ prompt: "```sh\necho hello\n```" });
  const events = [];
  for await (const event of client.runs.stream(run_id)) events.push(event);
  const error = await client.runs.get("nope").catch((error) => error);
  const log = await client.runs.transcript(run_id);
  const pages = [];
  for await (const run of client.runs.list()) pages.push(run.run_id);
  const headers = await sign({ scheme: "github", secret: "s", body: "" });
  return {
    sequences: events.map((event) => event.sequence),
    said: events.some((event) => event.type === "output" && event.data.text.includes("hello")),
    state: (await client.runs.wait(run_id)).state,
    error: error instanceof NotFoundError && error.requestId,
    log: (await log.text()).split("\n").length,
    pages,
    signed: headers["X-Hub-Signature-256"],
  };
}

test("I3 a page of an allowed origin follows a run, and no other page", { skip }, async (t) => {
  const [origin, stranger] = [await pageServer(t), await pageServer(t)];
  const baseURL = await lineshaft(t, origin);
  const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox"], timeout: 60_000 });
  t.after(() => browser.close());
  const page = await browser.newPage();
  await page.goto(origin);
  const seen = await page.evaluate(inPage, { baseURL, apiKey });
  assert.deepEqual(seen.sequences, seen.sequences.map((_, i) => i + 1));
  assert.ok(seen.said && seen.error && seen.log > 3);
  assert.equal(seen.state, "SUCCEEDED");
  assert.equal(seen.pages.length, 1);
  assert.match(seen.signed, /^sha256=[0-9a-f]{64}$/);

  await page.goto(stranger);
  await assert.rejects(page.evaluate(inPage, { baseURL, apiKey }), /ConnectionError|Failed to fetch/);
});
