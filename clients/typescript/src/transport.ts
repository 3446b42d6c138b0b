import { readBytes, readError } from "./answer.js";
import { randomHex } from "./bytes.js";
import { AbortError, APIError, ConnectionError, LineshaftError, TimeoutError } from "./errors.js";
import type { ClientOptions, Query, RequestOptions } from "./options.js";
import { environment } from "./options.js";
import { send } from "./redirect.js";
import { type Backoff, defaultBackoff, longestRetryAfter, mayHaveActed, pause, retryable } from "./retry.js";
import { OwnConnections } from "./runtime.js";
import { aborted, Deadline, sleep } from "./time.js";
import { endpoint, parseBase } from "./url.js";
import { version } from "./version.js";

/** One logical request, sent once or several times. */
export interface Call {
  method: string;
  path: string;
  query?: Query | undefined;
  /** Sent as JSON, but bytes, streams and blobs as they are. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** Sending it again is harmless even if the server has acted on an attempt whose answer was lost. */
  replay: boolean;
  /** The body of the answer is left for the caller to read, without a bound of time. */
  stream?: boolean;
  options?: RequestOptions | undefined;
}

/** What a call brought: the answer, whose body has arrived in full unless the call streams. */
export interface Answer {
  response: Response;
  /** The text of the body; empty if the call streams. */
  text: string;
}

/** The errors of calls that the server may have acted on in an attempt before. */
export const acted = new WeakSet<APIError>();

/** Sends calls to one server with one key. */
export class Transport {
  readonly base: URL;
  readonly backoff: Backoff;
  readonly streamRetries: number;
  readonly streamIdle: number;
  readonly #key: string; // private, so that no console.log shows it
  readonly #timeout: number;
  readonly #retries: number;
  readonly #headers: Headers;
  readonly #fetch: typeof fetch;

  constructor(options: ClientOptions) {
    this.base = parseBase(options.baseURL ?? environment("LINESHAFT_URL") ?? missing("server address", "baseURL", "LINESHAFT_URL"));
    this.#key = checkKey(options.apiKey ?? environment("LINESHAFT_API_KEY") ?? missing("API key", "apiKey", "LINESHAFT_API_KEY"));
    this.backoff = { ...defaultBackoff, ...options.backoff };
    this.streamRetries = options.streamRetries ?? 10;
    this.streamIdle = options.streamIdleTimeout || 60_000;
    this.#timeout = options.timeout ?? 60_000;
    this.#retries = options.maxRetries ?? 2;
    this.#headers = layered(agentHeader(), options.headers);
    this.#fetch = options.fetch ?? runtimeFetch();
  }

  /** Takes the key out of what a server answered, before anybody reads it in a log. */
  readonly mask = (text: string): string => text.replaceAll(this.#key, "***");

  /** Sends a call until it succeeds or cannot be helped. */
  async send(call: Call): Promise<Answer> {
    const { options = {} } = call;
    const url = endpoint(this.base, call.path, call.query, options.query);
    const request = encode(call, this.#headers.get("idempotency-key"));
    const retries = isStream(request.body) ? 0 : (options.maxRetries ?? this.#retries);
    let before = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, url, request);
      } catch (error) {
        if (error instanceof APIError) error.attempts = attempt;
        if (error instanceof APIError && before) acted.add(error);
        before ||= mayHaveActed(error);
        const wait = this.#wait(error, attempt);
        if (attempt > retries || !retryable(error, call.replay) || wait > longestRetryAfter * 1000) throw error;
        await sleep(wait, options.signal);
      }
    }
  }

  /** Opens one connection for a stream of events; its deadline stays the caller's to watch. */
  open(path: string, query: Query | undefined, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    return this.#fetchOnce(endpoint(this.base, path, query), { method: "GET", headers: layered(headers), signal });
  }

  /** Names a call with the address that it goes to. */
  name(method: string, path: string): string {
    return `${method} ${this.base.href}${path}`;
  }

  #wait(error: unknown, attempt: number): number {
    const asked = error instanceof APIError ? error.retryAfter : undefined;
    return asked === undefined ? pause(this.backoff, attempt - 1) : asked * 1000;
  }

  async #attempt(call: Call, url: string, request: Encoded): Promise<Answer> {
    const { options = {} } = call;
    const deadline = new Deadline(options.timeout ?? this.#timeout, options.signal);
    let kept = false;
    try {
      const headers = layered(request.headers, call.headers, options.headers);
      const response = await this.#fetchOnce(url, { method: call.method, headers, body: request.body, signal: deadline.signal });
      if (response.status >= 300) throw await readError(call.method, call.path, response, this.mask);
      if (call.stream) {
        kept = true;
        deadline.rest();
        return { response, text: "" };
      }
      const bytes = await readBytes(response);
      return { response: replica(response, bytes), text: new TextDecoder().decode(bytes) };
    } catch (error) {
      throw named(error, call, this.name(call.method, call.path), deadline);
    } finally {
      if (!kept) deadline.done();
    }
  }

  #fetchOnce(url: string, init: Outgoing): Promise<Response> {
    const headers = layered(this.#headers, init.headers);
    headers.set("authorization", `Bearer ${this.#key}`);
    return send(this.#fetch, url, { ...init, headers });
  }
}

interface Outgoing {
  method: string;
  headers: Headers;
  body?: BodyInit | undefined;
  signal: AbortSignal;
}

/** Puts headers over headers: a later one replaces an earlier one, however its name is written. */
function layered(...layers: (Headers | Record<string, string> | undefined)[]): Headers {
  const headers = new Headers();
  for (const layer of layers) new Headers(layer).forEach((value, name) => headers.set(name, value));
  return headers;
}

/** Names what ended an attempt, without ever repeating a header. */
function named(error: unknown, call: Call, what: string, deadline: Deadline): unknown {
  if (deadline.ending === "aborted") return aborted(call.options?.signal);
  if (deadline.ending === "timeout") return new TimeoutError(`${what}: no answer in time.`, { cause: error });
  if (error instanceof AbortError || error instanceof LineshaftError) return error;
  return connectionError(what, error);
}

/** Wraps what a fetch throws when no whole answer came. */
export function connectionError(what: string, cause: unknown): ConnectionError {
  const { cause: inner } = cause as { cause?: unknown };
  return new ConnectionError(`${what}: ${reason(inner instanceof Error ? inner : cause)}`, { cause });
}

/** What an error says. One that stands for several, such as a name with two addresses, says nothing by itself. */
function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { errors } = error as { errors?: unknown };
  return error.message || (Array.isArray(errors) && errors.length > 0 ? reason(errors[0]) : error.name);
}

interface Encoded {
  headers: Record<string, string>;
  body: BodyInit | undefined;
}

/** Writes the body and the headers that go with it; `ownKey` is the Idempotency-Key of the client's headers. */
function encode(call: Call, ownKey: string | null): Encoded {
  const headers: Record<string, string> = { accept: "application/json" };
  if (call.method === "POST") headers["idempotency-key"] = call.options?.idempotencyKey ?? ownKey ?? randomHex();
  if (call.body === undefined) return { headers, body: undefined };
  if (isRaw(call.body)) {
    headers["content-type"] = "application/octet-stream";
    return { headers, body: call.body };
  }
  headers["content-type"] = "application/json";
  return { headers, body: JSON.stringify(call.body) };
}

function isRaw(body: unknown): body is Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream {
  return body instanceof ArrayBuffer || ArrayBuffer.isView(body) || isStream(body) || body instanceof Blob;
}

/** A stream can be sent once only. */
function isStream(body: unknown): body is ReadableStream {
  return typeof ReadableStream !== "undefined" && body instanceof ReadableStream;
}

/** An answer like the received one, with a body that is still to be read. */
function replica(response: Response, bytes: Uint8Array<ArrayBuffer>): Response {
  const empty = response.status === 204 || response.status === 205;
  const { status, statusText, headers } = response;
  return new Response(empty ? null : bytes, { status, statusText, headers });
}

/** The global fetch as it is when it is called; browsers want it called on nothing. */
function runtimeFetch(): typeof fetch {
  const own = new OwnConnections();
  return (input, init) => fetch(input, { ...init, ...own.init(init?.method ?? "GET") });
}

/** Browsers name themselves, and would ask the server for leave to do otherwise. */
function agentHeader(): Record<string, string> {
  return "document" in globalThis || "importScripts" in globalThis ? {} : { "user-agent": `lineshaft-typescript/${version}` };
}

function checkKey(key: string): string {
  if (key === "") return missing("API key", "apiKey", "LINESHAFT_API_KEY");
  if (/[^!-~]/.test(key)) throw new TypeError("The API key holds a space or another character that no key has: copy it again.");
  return key;
}

function missing(what: string, option: string, variable: string): never {
  throw new TypeError(`There is no ${what}: give the option ${option} or set ${variable}.`);
}
