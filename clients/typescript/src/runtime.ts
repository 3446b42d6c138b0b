/**
 * Some runtimes send a request again by themselves when a kept connection breaks: Deno any
 * request, Bun also a DELETE. A server that has acted on the first would then act twice, and
 * nobody would know. What must not be repeated so goes over a connection of its own there.
 */
export class OwnConnections {
  #client: unknown;

  /** What a fetch takes beside its usual options; nothing in other runtimes. */
  init(method: string): object {
    if (method === "GET") return {};
    if ("Bun" in globalThis) return { keepalive: false };
    const { Deno } = globalThis as { Deno?: { createHttpClient?: (options: object) => unknown } };
    this.#client ??= Deno?.createHttpClient?.({ poolMaxIdlePerHost: 0 });
    return this.#client === undefined ? {} : { client: this.#client };
  }
}
