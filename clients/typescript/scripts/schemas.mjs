// Turns the schemas of the OpenAPI document into TypeScript.

/** Types that the package writes by hand, because the document cannot say as much. */
export const byHand = new Map([["RunEvent", "../events.js"]]);

export const banner = "// Made by scripts/generate.mjs from api/openapi.yaml and api/clients.json; do not edit.\n\n";

/** Writes types.ts. */
export function typesFile(document) {
  const { schemas } = document.components;
  const use = uses(document);
  const enums = enumNames(document);
  const parts = Object.keys(schemas)
    .filter((name) => !byHand.has(name))
    .map((name) => declaration(name, schemas[name], { enums, asked: use.asked.has(name), answered: use.answered.has(name) }));
  const imports = [...byHand].map(([name, from]) => `import type { ${name} } from "${from}";\n`).join("");
  const open =
    "/** One of the known values, or one that a newer server has. */\n" +
    "export type Open<T extends string> = T | (string & Record<never, never>);\n";
  return banner + imports + "\n" + [open, ...parts].join("\n");
}

/** Finds which schemas are part of requests and which of answers. */
function uses(document) {
  const asked = new Set();
  const answered = new Set();
  for (const operation of operationsOf(document)) {
    collect(operation.requestBody, document, asked);
    collect(operation.responses, document, answered);
  }
  return { asked, answered };
}

export function* operationsOf(document) {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) yield { path, method, ...operation };
  }
}

function collect(node, document, into) {
  if (typeof node !== "object" || node === null) return;
  const name = refName(node);
  if (name !== undefined) {
    if (into.has(name)) return;
    into.add(name);
    collect(document.components.schemas[name], document, into);
  }
  for (const value of Object.values(node)) collect(value, document, into);
}

export function refName(schema) {
  return schema?.$ref?.split("/").pop();
}

function declaration(name, schema, use) {
  const head = comment(schema.description, "");
  if (!schema.properties) return `${head}export type ${name} = ${typeOf(schema, {}, "")};\n`;
  return `${head}export interface ${name} ${objectOf(schema, use, "")}\n`;
}

/**
 * Writes the type of a schema. What servers answer may hold values that this version does
 * not know yet; what callers ask for may not.
 */
export function typeOf(schema, use, indent) {
  const name = refName(schema);
  if (name !== undefined) return use.enums?.has(name) && use.answered ? `Open<${name}>` : name;
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return either.map((one) => typeOf(one, use, indent)).join(" | ");
  if (schema.enum) return enumOf(schema, use);
  const types = [schema.type ?? "unknown"].flat();
  return types.map((type) => plainType(type, schema, use, indent)).join(" | ");
}

function plainType(type, schema, use, indent) {
  switch (type) {
    case "integer":
    case "number":
      return "number";
    case "array":
      return list(typeOf(schema.items ?? {}, use, indent));
    case "object":
      return schema.properties ? objectOf(schema, use, indent) : `Record<string, ${valueType(schema, use, indent)}>`;
    default:
      return type; // string, boolean, null, unknown
  }
}

function list(item) {
  return /^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`;
}

function valueType(schema, use, indent) {
  return typeof schema.additionalProperties === "object" ? typeOf(schema.additionalProperties, use, indent) : "unknown";
}

function enumOf(schema, use) {
  const known = schema.enum.filter((value) => value !== null).map((value) => JSON.stringify(value)).join(" | ");
  const text = use.answered ? `Open<${known}>` : known;
  return schema.enum.includes(null) ? `${text} | null` : text;
}

/** Writes an object. Callers may name a member of a request and leave it undefined. */
export function objectOf(schema, use, indent) {
  const inner = indent + "  ";
  const required = new Set(schema.required ?? []);
  const offered = Object.entries(schema.properties).filter(([, member]) => !member.description?.startsWith("Not offered by this server"));
  const members = offered.map(([name, member]) => {
    const type = typeOf(member, use, inner);
    const optional = required.has(name) ? "" : "?";
    const absent = optional && use.asked && type !== "unknown" ? " | undefined" : "";
    return `${comment(member.description, inner, member.deprecated)}${inner}${name}${optional}: ${type}${absent};\n`;
  });
  return members.length === 0 ? "{}" : `{\n${members.join("")}${indent}}`;
}

export function comment(text, indent, deprecated = false) {
  const lines = [...(text ?? "").replaceAll("*/", "* /").split("\n"), ...(deprecated ? ["@deprecated"] : [])].filter(Boolean);
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

/** The names of the schemas that are lists of words. */
export function enumNames(document) {
  return new Set(Object.entries(document.components.schemas).filter(([, schema]) => schema.enum).map(([name]) => name));
}
