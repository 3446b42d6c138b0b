import { APIError, ConnectionError } from "./errors.js";

/** The longest pause, in seconds, that a server can ask for and get. Past it the caller decides. */
export const longestRetryAfter = 60;

/** Pauses between attempts, in milliseconds. */
export interface Backoff {
  first: number;
  longest: number;
}

export const defaultBackoff: Backoff = { first: 500, longest: 8_000 };

/** Returns the pause before retry n, counted from 0: doubled each time, shortened by up to a quarter. */
export function pause(backoff: Backoff, n: number, random: () => number = Math.random): number {
  const full = Math.min(backoff.first * 2 ** Math.min(n, 30), backoff.longest);
  return full * (1 - random() / 4);
}

/**
 * Says whether another attempt may help and cannot harm. `replay` says that sending the
 * call again is harmless even if the server has acted on an attempt whose answer was lost.
 */
export function retryable(error: unknown, replay: boolean): boolean {
  if (error instanceof APIError) {
    const asked = shouldRetry(error.headers);
    return asked ?? (retryableStatus(error.status) && (replay || refusedUnread(error.status)));
  }
  return error instanceof ConnectionError && !isPermanent(error) && (replay || neverSent(error));
}

function retryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 429 || status >= 500;
}

/** The statuses with which a server says that it did nothing. */
function refusedUnread(status: number): boolean {
  return status === 429 || status === 503;
}

/**
 * Says that the server may have done what it was asked although the attempt failed: no
 * answer came, or one from somebody who does not know.
 */
export function mayHaveActed(error: unknown): boolean {
  if (error instanceof APIError) return error.status >= 500 && !refusedUnread(error.status);
  return error instanceof ConnectionError && !neverSent(error);
}

function shouldRetry(headers: Headers): boolean | undefined {
  const value = headers.get("x-should-retry");
  return value === "true" ? true : value === "false" ? false : undefined;
}

/** Reads how many seconds the server asks to wait: retry-after-ms, or Retry-After in seconds or as a date. */
export function retryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = number(headers.get("retry-after-ms"));
  if (ms !== undefined) return ms / 1000;
  const value = headers.get("retry-after");
  const seconds = number(value);
  if (seconds !== undefined) return seconds;
  // Only dates as HTTP writes them: Date.parse alone takes far more for a date.
  const at = value !== null && /^[A-Z][a-z]+, .* GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(at) ? undefined : Math.max(0, at - now) / 1000;
}

function number(text: string | null): number | undefined {
  if (text === null || !/^\s*\d+(\.\d*)?\s*$/.test(text)) return undefined;
  return Math.min(Number(text), 1e9);
}

/** What runtimes call a connection that never came up, so that nothing was sent. */
const unsentCodes = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
  "ConnectionRefused",
]);

/** Certificates that are not trusted stay so. */
const permanentCode = /^(CERT_|ERR_TLS_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|ERR_REDIRECT)/;

function neverSent(error: Error): boolean {
  return codes(error).some((code) => unsentCodes.has(code)) || /tcp connect error|dns error/.test(causeText(error));
}

function isPermanent(error: Error): boolean {
  return codes(error).some((code) => permanentCode.test(code));
}

/** Collects the codes of an error and of what caused it. */
function codes(error: unknown, depth = 0): string[] {
  if (typeof error !== "object" || error === null || depth > 5) return [];
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown };
  const below = [cause, ...(Array.isArray(errors) ? errors : [])].flatMap((inner) => codes(inner, depth + 1));
  return typeof code === "string" ? [code, ...below] : below;
}

function causeText(error: Error): string {
  return error.cause instanceof Error ? error.cause.message : "";
}
