// Builds dist/esm and dist/cjs with the TypeScript compiler alone.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const compiler = "node_modules/typescript/bin/tsc";
if (!existsSync(compiler)) {
  console.error("The compiler is not here yet: run `npm ci` in clients/typescript first.");
  process.exit(1);
}
rmSync("dist", { recursive: true, force: true });
for (const project of ["tsconfig.json", "tsconfig.cjs.json"]) {
  execFileSync(process.execPath, [compiler, "--project", project], { stdio: "inherit" });
}
// Each folder says what its files are, whatever the package around it says.
writeFileSync("dist/esm/package.json", '{ "type": "module", "sideEffects": false }\n');
writeFileSync("dist/cjs/package.json", '{ "type": "commonjs", "sideEffects": false }\n');
copyFileSync("../../LICENSE", "LICENSE");
