// Checks values against the declared types of the published client: the .d.ts
// files of the package are read with the TypeScript compiler, so the rules are
// the client's and not a copy of them.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import ts from "typescript";

const root = path.dirname(createRequire(import.meta.url).resolve("oz-agent-sdk"));
const files = ["runs", "agent", "schedules"].map((name) => path.join(root, `resources/agent/${name}.d.ts`));
const program = ts.createProgram(files, {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  lib: ["lib.es5.d.ts"],
  types: [],
  moduleResolution: ts.ModuleResolutionKind.Node10,
});
const checker = program.getTypeChecker();

export const version = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8")).version;

/** Names the ways in which a value differs from an exported type of the client; [] when it fits. */
export function differences(file, typeName, value) {
  const source = program.getSourceFile(path.join(root, `resources/agent/${file}.d.ts`));
  const symbol = checker
    .getExportsOfModule(checker.getSymbolAtLocation(source))
    .find((candidate) => candidate.name === typeName);
  if (!symbol) throw new Error(`the client has no type ${typeName} in ${file}`);
  return check(checker.getDeclaredTypeOfSymbol(symbol), value, typeName);
}

function check(type, value, at) {
  if (type.isUnion()) {
    const tries = type.types.map((member) => check(member, value, at));
    return tries.some((found) => found.length === 0) ? [] : [`${at}: ${JSON.stringify(value)} is not ${checker.typeToString(type)}`];
  }
  if (type.isLiteral() || type.flags & ts.TypeFlags.BooleanLiteral) return is(checker.typeToString(type) === JSON.stringify(value), type, value, at);
  if (type.flags & ts.TypeFlags.String) return is(typeof value === "string", type, value, at);
  if (type.flags & ts.TypeFlags.Number) return is(typeof value === "number", type, value, at);
  if (type.flags & ts.TypeFlags.Null) return is(value === null, type, value, at);
  if (type.flags & ts.TypeFlags.Undefined) return is(value === undefined, type, value, at);
  if (checker.isArrayType(type)) return checkArray(checker.getTypeArguments(type)[0], value, at);
  return checkObject(type, value, at);
}

function is(fits, type, value, at) {
  return fits ? [] : [`${at}: ${JSON.stringify(value)} is not ${checker.typeToString(type)}`];
}

function checkArray(element, value, at) {
  if (!Array.isArray(value)) return [`${at}: not an array`];
  return value.flatMap((item, index) => check(element, item, `${at}[${index}]`));
}

function checkObject(type, value, at) {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${at}: not an object`];
  const index = type.getStringIndexType();
  if (index) return Object.entries(value).flatMap(([name, item]) => check(index, item, `${at}.${name}`));
  return type.getProperties().flatMap((property) => {
    const member = value[property.name];
    if (member === undefined) return property.flags & ts.SymbolFlags.Optional ? [] : [`${at}.${property.name}: missing`];
    return check(checker.getTypeOfSymbol(property), member, `${at}.${property.name}`);
  });
}
