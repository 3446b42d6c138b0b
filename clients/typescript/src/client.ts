import { decode } from "./answer.js";
import { Resources } from "./generated/resources.js";
import type { ClientOptions, RequestOptions } from "./options.js";
import { APIPromise } from "./promise.js";
import { type Call, Transport } from "./transport.js";

/**
 * Calls one server with one key. Address and key come from LINESHAFT_URL and
 * LINESHAFT_API_KEY unless they are given. Nothing is sent until a method is called.
 */
export class Lineshaft extends Resources {
  readonly #transport: Transport;

  constructor(options: ClientOptions = {}) {
    const transport = new Transport(options);
    super(transport);
    this.#transport = transport;
  }

  /** The address that this client calls. */
  get baseURL(): string {
    return this.#transport.base.href;
  }

  /** Reads any path below /api/v1, also one that this package has no method for. */
  get<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.request({ method: "GET", path, replay: true, options });
  }

  /** Posts to any path. It is sent again only when the server cannot have acted on it. */
  post<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.request({ method: "POST", path, body, replay: false, options });
  }

  put<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.request({ method: "PUT", path, body, replay: true, options });
  }

  patch<T = unknown>(path: string, body?: unknown, options?: RequestOptions): APIPromise<T> {
    return this.request({ method: "PATCH", path, body, replay: false, options });
  }

  delete<T = unknown>(path: string, options?: RequestOptions): APIPromise<T> {
    return this.request({ method: "DELETE", path, replay: true, options });
  }

  /**
   * Sends any call. With `stream` the answer's body is left to be read from `asResponse()`.
   * `replay` says that sending it twice is harmless.
   */
  request<T = unknown>(call: Call): APIPromise<T> {
    return new APIPromise(this.#transport.send(call), (answer) => decode(`${call.method} ${call.path}`, answer) as T);
  }
}
