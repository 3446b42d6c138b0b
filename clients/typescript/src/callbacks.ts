import { type Bytes, concat, fromBase64, subtle, toBytes } from "./bytes.js";
import { LineshaftError } from "./errors.js";
import type { Open, RunState } from "./generated/types.js";
import { readShared } from "./keys.js";

export type { Bytes } from "./bytes.js";

/** What a callback tells. A newer server may send further types. */
export type CallbackEvent = RunStateChanged | NotificationTest;

/** A run changed its state. */
export interface RunStateChanged {
  type: "run.state_changed";
  timestamp: string;
  data: RunStateChangedData;
}

/** Somebody tries whether the endpoint works. */
export interface NotificationTest {
  type: "notification.test";
  timestamp: string;
  data: Partial<RunStateChangedData>;
}

export interface RunStateChangedData {
  /** The same as in the run's log, and the header webhook-id: an event that was seen before is a repetition. */
  event_id: string;
  sequence: number;
  run_id: string;
  state: Open<RunState>;
  previous_state?: Open<RunState>;
  message?: string;
  error_code?: string;
  title: string;
  name?: string;
  factory_uid?: string;
  automation_id?: string;
  webhook_id?: string;
  delivery_id?: string;
  created_at: string;
  finished_at?: string;
  url: string;
}

/** A callback that is not authentic: answer it with 401 and do nothing else. */
export class CallbackError extends LineshaftError {
  override name = "CallbackError";
}

/** Headers as fetch has them, whoever made it, or as Node does. */
export type CallbackHeaders = { get(name: string): string | null | undefined } | { readonly [name: string]: string | readonly string[] | undefined };

export interface VerifyOptions {
  /** How far the time of the callback may be from now, in seconds; 300 by default. */
  tolerance?: number | undefined;
  now?: Date | undefined;
}

const mostSignatures = 16;

/**
 * Checks that a callback was sent by the server that knows the secret, and not long ago; then
 * returns what it tells. The body must be the bytes as they came. Give both secrets while an
 * old one is still valid.
 */
export async function verifyCallback(
  secret: string | readonly string[],
  headers: CallbackHeaders,
  body: Bytes,
  options: VerifyOptions = {},
): Promise<CallbackEvent> {
  const id = single(headers, "webhook-id");
  const stamp = single(headers, "webhook-timestamp");
  if (!/^[ -~]{1,256}$/.test(id) || id.includes(".")) throw new CallbackError("The id has characters that none has.");
  checkTime(stamp, options);
  const sent = signatures(single(headers, "webhook-signature"));
  const bytes = toBytes(body);
  const text = concat([toBytes(`${id}.${stamp}.`), bytes]);
  if (!(await anyMatches([secret].flat(), sent, text))) throw new CallbackError("No signature matches.");
  return parse(bytes);
}

function single(headers: CallbackHeaders, name: string): string {
  const value = isGetter(headers) ? headers.get(name) : lookUp(headers, name);
  if (typeof value !== "string" || value === "" || value.length > 4096) {
    throw new CallbackError(`The header ${name} is missing, empty, too long or there twice.`);
  }
  return value;
}

type Getter = Extract<CallbackHeaders, { get(name: string): unknown }>;

/** Headers of other packages and realms are no instance of the global class. */
function isGetter(headers: CallbackHeaders): headers is Getter {
  return typeof headers.get === "function";
}

function lookUp(headers: Exclude<CallbackHeaders, Getter>, name: string): string | undefined {
  const values = Object.entries(headers).filter(([key]) => key.toLowerCase() === name).flatMap(([, value]) => value ?? []);
  return values.length === 1 ? values[0] : undefined;
}

function checkTime(stamp: string, { tolerance = 300, now = new Date() }: VerifyOptions): void {
  if (!/^[1-9]\d{0,10}$/.test(stamp)) throw new CallbackError("The time stamp is not a number of seconds since 1970.");
  if (Math.abs(Math.floor(now.getTime() / 1000) - Number(stamp)) > tolerance) {
    throw new CallbackError("The time stamp is too far from now: check the clocks.");
  }
}

/** Collects the signatures of the known version; others are passed over. */
function signatures(header: string): Uint8Array<ArrayBuffer>[] {
  const sent = header.split(" ").filter((item) => item.startsWith("v1,"));
  if (sent.length > mostSignatures) throw new CallbackError("There are too many signatures.");
  return sent.flatMap((item) => fromBase64(item.slice(3)) ?? []);
}

/** Compares in constant time: that is what Web Crypto's verify does. */
async function anyMatches(secrets: string[], sent: Uint8Array<ArrayBuffer>[], text: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const hmac = { name: "HMAC", hash: "SHA-256" };
  for (const secret of secrets) {
    const key = await subtle().importKey("raw", readShared(secret).bytes, hmac, false, ["verify"]);
    for (const signature of sent) if (await subtle().verify("HMAC", key, signature, text)) return true;
  }
  return false;
}

function parse(bytes: Uint8Array): CallbackEvent {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as CallbackEvent;
  } catch (cause) {
    throw new CallbackError("The body is not JSON: give the bytes as they came.", { cause });
  }
}
