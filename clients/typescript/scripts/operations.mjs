// Turns the operations of the OpenAPI document into a class for each resource.
import { banner, byHand, comment, objectOf, operationsOf, refName, typeOf } from "./schemas.mjs";

/** POSTs that change nothing, or the same when they are sent twice, though the server keeps no key for them. */
const harmless = new Set([
  "validateDefinition",
  "planDefinition",
  "planFiles",
  "validateFiles",
  "testFilter",
  "syncRepository",
  "pauseScheduledAgent",
  "resumeScheduledAgent",
]);

/** Resources with methods that are written by hand. */
const extended = new Set(["runs"]);

/** Writes a file for each resource, by its path. */
export function resourceFiles(document, names) {
  const resources = new Map();
  for (const operation of operationsOf(document)) {
    const name = names[operation.operationId];
    if (name === undefined) throw new Error(`api/clients.json has no name for ${operation.operationId}`);
    if (name === "-") continue;
    const [resource, method] = name.split(".");
    if (!resources.has(resource)) resources.set(resource, []);
    resources.get(resource).push(describe(document, operation, resource, camel(method)));
  }
  const sorted = [...resources].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    ...sorted.map(([resource, operations]) => [`${resource}.ts`, resourceFile(resource, operations)]),
    ["resources.ts", allFile(sorted.map(([resource]) => resource))],
  ];
}

/** Writes the class that holds every resource; those in ../ add to the generated ones. */
function allFile(resources) {
  const from = (resource) => (extended.has(resource) ? `../${resource}.js` : `./${resource}.js`);
  const lines = resources.map((resource) => `import { ${pascal(resource)} } from "${from(resource)}";\n`).join("");
  const fields = resources.map((resource) => `  readonly ${resource}: ${pascal(resource)};\n`).join("");
  const made = resources.map((resource) => `    this.${resource} = new ${pascal(resource)}(transport);\n`).join("");
  return `${banner}import type { Transport } from "../transport.js";\n${lines}
/** Everything that a server has. */
export class Resources {
${fields}
  constructor(transport: Transport) {
${made}  }
}
`;
}

/** Collects what a method needs to know of an operation. */
function describe(document, operation, resource, name) {
  const parameters = operation.parameters ?? [];
  const body = bodyOf(document, operation.requestBody);
  const query = parameters.filter((p) => p.in === "query" && !body?.members.has(p.name));
  const answer = answerOf(document, operation);
  return {
    ...operation,
    name,
    body,
    query,
    answer,
    pathNames: [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]),
    queryType: query.length > 0 ? pascal(resource) + pascal(name) + "Query" : undefined,
    queryNeeded: query.some((p) => p.required),
    replay: operation.method !== "post" || harmless.has(operation.operationId) || parameters.some((p) => p.name === "Idempotency-Key"),
  };
}

function bodyOf(document, requestBody) {
  if (!requestBody) return undefined;
  const json = requestBody.content["application/json"];
  if (!json) return { type: "Content", members: new Set(), needed: true };
  const name = refName(json.schema);
  const { properties = {} } = document.components.schemas[name];
  return { type: name, members: new Set(Object.keys(properties)), needed: requestBody.required === true };
}

/** Says what kind of answer an operation has: a page, a stream, a download, nothing or JSON. */
function answerOf(document, { responses }) {
  const [, good] = Object.entries(responses).find(([status]) => status < "400");
  const content = good.content ?? {};
  const json = content["application/json"]?.schema;
  if (json) {
    const item = pageOf(document, refName(json));
    return item ? { kind: "page", ...item } : { kind: "json", type: typeOf(json, {}, "") };
  }
  if (content["text/event-stream"]) return { kind: "stream" };
  const elsewhere = Object.keys(responses).some((status) => status.startsWith("3"));
  return { kind: elsewhere || Object.keys(content).length > 0 ? "download" : "nothing" };
}

/** A list is a page when it holds things of one kind and nothing else. */
function pageOf(document, name) {
  const { properties = {} } = document.components.schemas[name] ?? {};
  const members = Object.keys(properties).filter((member) => member !== "page_info");
  const [member] = members;
  if (!name?.startsWith("List") || members.length !== 1 || properties[member].type !== "array") return undefined;
  return { member, type: typeOf(properties[member].items, {}, "") };
}

function resourceFile(resource, operations) {
  const methods = operations.filter((operation) => operation.answer.kind !== "stream").map(methodOf);
  const queries = operations.filter((operation) => operation.queryType).map(queryOf);
  const text = [`/** Part of a client. */\nexport class ${pascal(resource)} extends Resource {\n${methods.join("\n")}}\n`, ...queries].join("\n");
  return banner + imports(text) + "\n" + text;
}

/** Names only what the file uses; whatever starts with a capital is a type. */
function imports(text) {
  const declared = new Set([...text.matchAll(/export (?:class|interface) (\w+)/g)].map((match) => match[1]));
  const code = text.replace(/\/\*\*[^]*?\*\//g, "").replace(/"[^"]*"/g, "");
  const used = new Set([...code.matchAll(/\b[A-Z]\w*\b/g)].map((match) => match[0]));
  for (const name of [...declared, "Resource", "APIPromise", "PagePromise", "RequestOptions", "Response", "Content", "Date", "Record"]) used.delete(name);
  const lines = [];
  const has = (word) => new RegExp(`\\b${word}\\b`).test(code);
  for (const [name, from] of byHand) if (used.delete(name)) lines.push(`import type { ${name} } from "${from}";`);
  if (has("RequestOptions")) lines.push(`import type { RequestOptions } from "../options.js";`);
  if (has("PagePromise")) lines.push(`import type { PagePromise } from "../pages.js";`);
  if (has("APIPromise")) lines.push(`import type { APIPromise } from "../promise.js";`);
  const base = [has("Content") ? "type Content" : "", code.includes("path`") ? "path" : "", "Resource"].filter(Boolean);
  lines.push(`import { ${base.join(", ")} } from "../resource.js";`);
  if (used.size > 0) lines.push(`import type { ${[...used].sort().join(", ")} } from "./types.js";`);
  return lines.join("\n") + "\n";
}

function methodOf(operation) {
  const { name, pathNames, body, queryType, queryNeeded, answer } = operation;
  const parameters = [
    ...pathNames.map((id) => `${id}: ${id === "number" ? "number" : "string"}`),
    ...(body ? [`body: ${body.type}${body.needed ? "" : " = {}"}`] : []),
    ...(queryType ? [`query: ${queryType}${queryNeeded ? "" : " = {}"}`] : []),
    "options?: RequestOptions",
  ];
  const call = [
    `method: "${operation.method.toUpperCase()}"`,
    `path: ${pathOf(operation)}`,
    ...(body ? ["body"] : []),
    ...(queryType ? ["query: { ...query }"] : []),
    `replay: ${operation.replay}`,
    "options",
  ].join(", ");
  const { result, helper, rest } = resultOf(operation, answer);
  const doc = comment([operation.summary + ".", operation.description].filter(Boolean).join("\n"), "  ", operation.deprecated);
  return `${doc}  ${name}(${parameters.join(", ")}): ${result} {\n    return this.${helper}({ ${call} }${rest});\n  }\n`;
}

function pathOf({ path, pathNames }) {
  if (pathNames.length === 0) return `"${path}"`;
  return "path`" + path.replace(/\{(\w+)\}/g, "${$1}") + "`";
}

function resultOf({ method }, answer) {
  switch (answer.kind) {
    case "page":
      return { result: `PagePromise<${answer.type}>`, helper: `callPage<${answer.type}>`, rest: `, "${answer.member}"` };
    case "json":
      return { result: `APIPromise<${answer.type}>`, helper: `callJSON<${answer.type}>`, rest: "" };
    case "download":
      return { result: "APIPromise<Response>", helper: "callDownload", rest: "" };
    default:
      return { result: "APIPromise<void>", helper: method === "delete" ? "callDelete" : "callNothing", rest: "" };
  }
}

function queryOf({ queryType, query, name }) {
  const schema = {
    properties: Object.fromEntries(query.map((p) => [p.name, { ...p.schema, description: p.description ?? p.schema.description }])),
    required: query.filter((p) => p.required).map((p) => p.name),
  };
  const text = objectOf(schema, { asked: true }, "").replace(/^( {2}\w+_(?:after|before)\??: )string/gm, "$1string | Date");
  return `/** Selects what ${name} answers. */\nexport interface ${queryType} ${text}\n`;
}

function camel(name) {
  return name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
}

function pascal(name) {
  const text = camel(name);
  return text[0].toUpperCase() + text.slice(1);
}
