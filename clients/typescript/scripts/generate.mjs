// Writes src/generated from api/openapi.yaml and api/clients.json. With --check it
// writes nothing and fails when a file is not what it would write.
// Usage: node scripts/generate.mjs [--check]
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { resourceFiles } from "./operations.mjs";
import { typesFile } from "./schemas.mjs";

const home = join(dirname(fileURLToPath(import.meta.url)), "..");
const target = join(home, "src/generated");

/** Makes every file, by its path below src/generated. */
function generate() {
  const api = join(home, "../../api");
  const document = parse(readFileSync(join(api, "openapi.yaml"), "utf8"));
  const names = JSON.parse(readFileSync(join(api, "clients.json"), "utf8"));
  return new Map([["types.ts", typesFile(document)], ...resourceFiles(document, names)]);
}

function present() {
  return readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(target, join(entry.parentPath ?? entry.path, entry.name)));
}

function check(files) {
  const wrong = [...files].filter(([name, text]) => read(name) !== text).map(([name]) => name);
  wrong.push(...present().filter((name) => !files.has(name)));
  if (wrong.length === 0) return;
  console.error(`src/generated differs from what api/ says: ${wrong.sort().join(", ")}. Run: npm run generate`);
  process.exitCode = 1;
}

function read(name) {
  try {
    return readFileSync(join(target, name), "utf8");
  } catch {
    return undefined;
  }
}

function write(files) {
  rmSync(target, { recursive: true, force: true });
  for (const [name, text] of files) {
    mkdirSync(dirname(join(target, name)), { recursive: true });
    writeFileSync(join(target, name), text);
  }
}

const files = generate();
if (process.argv.includes("--check")) check(files);
else write(files);
