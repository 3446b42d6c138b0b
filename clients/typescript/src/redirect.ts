import { ConnectionError } from "./errors.js";

const mostRedirects = 10;

const harmless = new Set(["accept", "accept-encoding", "cache-control", "last-event-id", "range", "user-agent"]);

/** What send needs of a request. */
export interface Sent {
  method: string;
  headers: Headers;
  body?: BodyInit | undefined;
  signal: AbortSignal;
}

/**
 * Fetches and follows redirects itself: the key and the caller's own headers, which may be
 * as secret, go to the origin of the server and to no other. Only a GET is followed: a POST would go where nobody meant it to, or become a GET,
 * whose answer would look like the success of something else.
 */
export async function send(fetcher: typeof fetch, url: string, sent: Sent): Promise<Response> {
  const origin = new URL(url).origin;
  const headers = new Headers(sent.headers);
  for (let hop = 0; ; hop++) {
    const response = await fetcher(url, init(sent, headers, "manual"));
    // Browsers hide where a redirect leads.
    if (response.type === "opaqueredirect") return followInBrowser(fetcher, url, sent, headers);
    const location = response.headers.get("location");
    if (!isRedirect(response.status) || location === null) return response;
    await response.body?.cancel();
    const target = new URL(location, url);
    if (sent.method !== "GET") throw refused(sent.method, target.origin);
    if (hop === mostRedirects) throw permanent(`Stopped after ${mostRedirects} redirects.`);
    if (target.origin !== origin) keepHarmless(headers);
    url = target.href;
  }
}

function followInBrowser(fetcher: typeof fetch, url: string, sent: Sent, headers: Headers): Promise<Response> {
  if (sent.method !== "GET") throw refused(sent.method, "another address");
  // They leave the key out by themselves when they follow it to another origin, and nothing
  // else: a header of the caller's own could go anywhere.
  keepHarmless(headers, "authorization");
  return fetcher(url, init(sent, headers, "follow"));
}

/** Takes out all headers but those that may be told to any server: they are about the answer. */
function keepHarmless(headers: Headers, ...others: string[]): void {
  for (const name of [...headers.keys()]) {
    if (!harmless.has(name) && !others.includes(name)) headers.delete(name);
  }
}

function init(sent: Sent, headers: Headers, redirect: RequestRedirect): RequestInit {
  const { method, body, signal } = sent;
  const request: RequestInit & { duplex?: "half" } = { method, headers, signal, redirect };
  if (body !== undefined) request.body = body;
  if (typeof ReadableStream !== "undefined" && body instanceof ReadableStream) request.duplex = "half";
  return request;
}

function isRedirect(status: number): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

function refused(method: string, to: string): ConnectionError {
  return permanent(`The server redirects ${method} to ${to}: use that as the server address.`);
}

/** The same address redirects again, so there is no point in another attempt. */
function permanent(message: string): ConnectionError {
  return Object.assign(new ConnectionError(message), { code: "ERR_REDIRECT" });
}
