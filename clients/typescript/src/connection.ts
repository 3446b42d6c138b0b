import { readError } from "./answer.js";
import { ConnectionError, InvalidAnswerError, LineshaftError } from "./errors.js";
import type { Query } from "./options.js";
import { type Frame, FrameParser } from "./sse.js";
import { aborted, Deadline } from "./time.js";
import { connectionError, type Transport } from "./transport.js";

/** One connection of a stream. It is watched: a silent one ends as if it were broken. */
export class Connection {
  /** The server says that there is nothing more (204). */
  over = false;
  readonly #transport: Transport;
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;
  readonly #watch: Deadline;
  readonly #parser = new FrameParser();
  /** When the frame with the server's pause had come. */
  #began: number | undefined;

  constructor(transport: Transport, path: string, signal: AbortSignal | undefined) {
    this.#transport = transport;
    this.#path = path;
    this.#signal = signal;
    this.#watch = new Deadline(transport.streamIdle, signal);
  }

  /**
   * It showed that the server is there: its heartbeat came, whole, or the stream began as
   * the server begins it, with the pause that it asks for, and was cut only after longer
   * than that again. A quiet run behind a proxy that ends what is silent looks like this. One
   * that is silent to us does not count, nor one that ends within a frame. How long the
   * beginning took does not count either: a server that answers late may still end all
   * that it begins.
   */
  get alive(): boolean {
    const { comment, cut, opened } = this.#parser;
    const lasted = this.#began === undefined ? 0 : performance.now() - this.#began;
    return comment || (opened > 0 && !cut && this.#watch.ending !== "timeout" && lasted > opened);
  }

  /** The pause in milliseconds that the stream asked for. */
  get retry(): number {
    return this.#parser.retry;
  }

  /** Reads to the end. Leaving the loop frees the connection. */
  async *frames(query: Query | undefined, lastEventId: string | undefined): AsyncGenerator<Frame, void, undefined> {
    try {
      const body = await this.#open(query, lastEventId);
      if (body === undefined) return;
      const reader = body.getReader();
      // Deno does not always end a read whose signal was aborted.
      this.#watch.signal.addEventListener("abort", () => void reader.cancel().catch(() => {}), { once: true });
      for (;;) {
        this.#watch.restart(this.#transport.streamIdle);
        const { done, value } = await reader.read();
        this.#watch.rest(); // while the caller works on an event
        if (this.#watch.ending) throw new ConnectionError("ended from here"); // named below
        if (done) break;
        const frames = this.#parser.push(value);
        if (this.#parser.opened > 0) this.#began ??= performance.now();
        yield* frames;
      }
      if (this.#parser.cut) throw new ConnectionError(`GET ${this.#path}: the stream was cut within an event.`);
    } catch (error) {
      throw this.#named(error);
    } finally {
      this.#watch.cancel();
    }
  }

  async #open(query: Query | undefined, lastEventId: string | undefined): Promise<ReadableStream<Uint8Array> | undefined> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
    const response = await this.#transport.open(this.#path, query, headers, this.#watch.signal);
    if (response.status === 204) {
      this.over = true;
      return undefined;
    }
    if (response.status !== 200) throw await readError("GET", this.#path, response, this.#transport.mask);
    const kind = response.headers.get("content-type") ?? "";
    if (!/^text\/event-stream\s*(;|$)/i.test(kind)) {
      throw new InvalidAnswerError(
        `GET ${this.#path}: the server answered ${JSON.stringify(kind)} instead of a stream of events: check the server address.`,
      );
    }
    return response.body ?? undefined;
  }

  #named(error: unknown): unknown {
    if (this.#watch.ending === "aborted") return aborted(this.#signal);
    if (this.#watch.ending === "timeout") return new ConnectionError(`GET ${this.#path}: the stream was silent for too long.`);
    return error instanceof LineshaftError ? error : connectionError(this.#transport.name("GET", this.#path), error);
  }
}
