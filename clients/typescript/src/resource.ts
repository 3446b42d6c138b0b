import { decode } from "./answer.js";
import { APIError } from "./errors.js";
import { paged, type PagePromise } from "./pages.js";
import { APIPromise } from "./promise.js";
import { acted, type Answer, type Call, type Transport } from "./transport.js";
import { segment } from "./url.js";

/** Bytes to send; a stream is sent as it is read, and once. */
export type Content = Blob | ArrayBuffer | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;

/** A noun of the API: what its methods share. */
export class Resource {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  protected callJSON<T>(call: Call): APIPromise<T> {
    return new APIPromise(this.#transport.send(call), (answer) => read(call, answer) as T);
  }

  protected callNothing(call: Call): APIPromise<void> {
    return new APIPromise(this.#transport.send(call), () => undefined);
  }

  protected callDelete(call: Call): APIPromise<void> {
    return new APIPromise(this.#transport.send(call).catch(alreadyGone), () => undefined);
  }

  /** The body of the answer is read by the caller. */
  protected callDownload(call: Call): APIPromise<Response> {
    const headers = { accept: "*/*", ...call.headers };
    return new APIPromise(this.#transport.send({ ...call, headers, stream: true }), ({ response }) => response);
  }

  protected callPage<T>(call: Call, member: string): PagePromise<T> {
    return paged<T>({
      member,
      cursor: call.query?.["cursor"] as string | undefined,
      fetch: (cursor) => this.#transport.send({ ...call, query: { ...call.query, cursor } }),
      read: (answer) => read(call, answer),
    });
  }
}

function read(call: Call, answer: Answer): unknown {
  return decode(`${call.method} ${call.path}`, answer);
}

/** When a retry finds nothing, an earlier attempt has done it, if the server may have acted on one. */
function alreadyGone(error: unknown): Answer {
  if (error instanceof APIError && error.status === 404 && acted.has(error)) {
    return { response: new Response(null, { status: 204 }), text: "" };
  }
  throw error;
}

/** Writes a path whose ids are escaped. */
export function path(texts: TemplateStringsArray, ...ids: (string | number)[]): string {
  return texts.reduce((before, text, i) => before + segment("an id", ids[i - 1] as string | number) + text);
}
