// A scratch project that has the package as npm would install it.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const home = fileURLToPath(new URL("..", import.meta.url));

/** Packs the package and unpacks it where a project would have it; returns the project's folder. */
export function project(after) {
  const folder = mkdtempSync(join(tmpdir(), "lineshaft-package-"));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const packed = process.env.LINESHAFT_PACKAGE ?? pack(folder);
  const target = join(folder, "node_modules/lineshaft");
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["xzf", packed, "--strip-components=1", "-C", target]);
  writeFileSync(join(folder, "package.json"), '{ "name": "consumer", "private": true }');
  return folder;
}

/** Packs it as it is built: other tests use dist at the same time. test/run does it once for all of them. */
function pack(folder) {
  const packing = ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder];
  return join(folder, execFileSync("npm", packing, { cwd: home, encoding: "utf8" }).trim());
}

/** Type-checks files of a project as strictly as can be. */
export function typeCheck(folder, moduleResolution, ...files) {
  const module = moduleResolution === "node16" ? "node16" : "esnext";
  const strict = ["--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noEmit", "--skipLibCheck", "false"];
  const lib = ["--target", "es2022", "--lib", "es2022,dom,dom.iterable,dom.asynciterable", "--types", ""];
  const tsc = join(home, "node_modules/.bin/tsc");
  try {
    execFileSync(tsc, [...strict, ...lib, "--module", module, "--moduleResolution", moduleResolution, ...files], { cwd: folder, encoding: "utf8" });
    return "";
  } catch (error) {
    return error.stdout;
  }
}
