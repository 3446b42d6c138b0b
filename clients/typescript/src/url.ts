import type { Query } from "./options.js";

const apiPrefix = "/api/v1";

/** Reads the address of a server; the path /api/v1 may be left out. */
export function parseBase(text: string): URL {
  let base: URL;
  try {
    base = new URL(text);
  } catch {
    throw new TypeError(`The server address ${JSON.stringify(clip(text))} is not an http or https URL such as http://127.0.0.1:8484.`);
  }
  if (base.protocol !== "http:" && base.protocol !== "https:") {
    throw new TypeError(`The server address ${JSON.stringify(clip(text))} is not an http or https URL such as http://127.0.0.1:8484.`);
  }
  if (base.username || base.password) {
    throw new TypeError("The server address holds a user name or password: give the API key by itself instead.");
  }
  if (base.search || base.hash || /[?#]/.test(text)) {
    throw new TypeError("The server address holds a query or a fragment: leave out everything from ? or # on.");
  }
  const path = base.pathname.replace(/\/+$/, "");
  base.pathname = path.endsWith(apiPrefix) ? path : path + apiPrefix;
  return base;
}

/** Makes the full URL of a path below /api/v1, whose parts are escaped. */
export function endpoint(base: URL, path: string, ...queries: (Query | undefined)[]): string {
  if (!path.startsWith("/") || path.startsWith("//") || path.includes("\\") || path.includes("#")) {
    throw new TypeError(`The path ${JSON.stringify(clip(path))} must start with one slash and be relative to ${apiPrefix}.`);
  }
  const full = new URL(base.href + path);
  if (!full.pathname.startsWith(base.pathname + "/")) {
    throw new TypeError(`The path ${JSON.stringify(clip(path))} leads out of ${apiPrefix}.`);
  }
  for (const query of queries) appendQuery(full.searchParams, query ?? {});
  return full.href;
}

function appendQuery(params: URLSearchParams, query: Query): void {
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value)) {
      for (const item of value as readonly unknown[]) params.append(name, String(item));
    } else if (value instanceof Date) {
      params.append(name, value.toISOString());
    } else if (typeof value === "object") {
      for (const [key, text] of Object.entries(value)) params.append(`${name}[${key}]`, String(text));
    } else {
      params.append(name, String(value));
    }
  }
}

/** Escapes an id for a path. An empty one, or one that a path would swallow, would address another thing. */
export function segment(noun: string, id: string | number): string {
  const text = String(id);
  if (text === "" || text === "." || text === ".." || id === undefined || id === null) {
    throw new TypeError(`${JSON.stringify(id ?? null)} is not ${noun}.`);
  }
  return encodeURIComponent(text);
}

export function clip(text: string, limit = 100): string {
  return text.length > limit ? text.slice(0, limit - 1) + "…" : text;
}
