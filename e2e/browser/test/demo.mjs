// A demo: a server full of made-up data.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Server, patience, required } from "./server.mjs";

/** Starts the demo and waits until it says where it is and with which key: a server to call. */
export async function startDemo(temporary) {
  const began = Date.now();
  const child = spawn(required("LINESHAFT_BIN"), ["demo", "--port", "0"], { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...(temporary && { TMPDIR: temporary }) } });
  const told = {};
  for await (const line of createInterface({ input: child.stdout })) {
    told.url ??= /ready at (http\S+)/.exec(line)?.[1];
    told.key ??= /Sign in with\s+(ls_\S+)/.exec(line)?.[1];
    if (told.url && told.key) break;
  }
  if (told.url) assert.equal((await fetch(`${told.url}/login`)).status, 200);
  return Object.assign(new Server(), { child, took: Date.now() - began, ...told });
}

/** Ends it as Ctrl-C does, and waits until it is gone. */
export async function stopDemo({ child }) {
  child.kill("SIGTERM");
  await once(child, "exit", { signal: AbortSignal.timeout(patience) });
}
