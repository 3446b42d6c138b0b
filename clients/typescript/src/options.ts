import type { Backoff } from "./retry.js";

/** How a client is made. */
export interface ClientOptions {
  /** Address of the server, with or without /api/v1; by default LINESHAFT_URL. */
  baseURL?: string | undefined;
  /** A key that starts with "ls_"; by default LINESHAFT_API_KEY. `lineshaft apikey create` makes one. */
  apiKey?: string | undefined;
  /** Bounds each attempt of a call, answer included, in milliseconds; 0 means no bound. 60,000 by default. */
  timeout?: number | undefined;
  /** How often a failed call is tried again; 2 by default. */
  maxRetries?: number | undefined;
  /** The first and the longest pause between attempts, in milliseconds; 500 and 8,000 by default. */
  backoff?: Partial<Backoff> | undefined;
  /** How many connections in a row may show no sign of life before a stream or wait gives up; 10 by default. */
  streamRetries?: number | undefined;
  /** How long a stream may be silent before it is connected anew, in milliseconds; 60,000 by default. */
  streamIdleTimeout?: number | undefined;
  /** Headers of every request. */
  headers?: Record<string, string> | undefined;
  /** Sends the requests, for own proxies, certificates or tests; by default the global fetch. */
  fetch?: typeof fetch | undefined;
}

/** How one call differs from the others of its client. */
export interface RequestOptions {
  /** Ends the call, its retries and its connection. */
  signal?: AbortSignal | undefined;
  /** Bounds each attempt, in milliseconds; 0 means no bound. */
  timeout?: number | undefined;
  maxRetries?: number | undefined;
  /** Further headers. */
  headers?: Record<string, string> | undefined;
  /** Further members of the query, also those that this package does not know. */
  query?: Query | undefined;
  /** The Idempotency-Key of a POST; by default each call has a new one. */
  idempotencyKey?: string | undefined;
}

/** Members of a query. Lists are repeated; objects become name[key]=value. */
export type Query = Record<string, QueryValue>;
export type QueryValue =
  | string
  | number
  | boolean
  | Date
  | null
  | undefined
  | readonly (string | number | boolean)[]
  | { readonly [key: string]: string };

/** Reads a variable where there is an environment. */
export function environment(name: string): string | undefined {
  try {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    return process?.env?.[name] || undefined;
  } catch {
    return undefined; // Deno without the permission to read it
  }
}
