import { AbortError } from "./errors.js";

/** The longest that timers know, some 25 days; they take more for nothing at all. */
const longestTimer = 2 ** 31 - 1;

/** Waits some milliseconds; a signal ends the wait with an AbortError. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(aborted(signal));
    const stop = () => {
      clearTimeout(timer);
      reject(aborted(signal));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, Math.min(ms, longestTimer));
    signal?.addEventListener("abort", stop, { once: true });
  });
}

export function aborted(signal: AbortSignal | undefined): AbortError {
  return new AbortError("The call was aborted.", { cause: signal?.reason });
}

/** Why a Deadline ended what it watches. */
export type Ending = "timeout" | "aborted";

/**
 * Ends something when a time is over or when the caller's signal says so. AbortSignal.any
 * would do the same, but Node 18 does not have it.
 */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Set once it has ended something. */
  ending: Ending | undefined;

  constructor(ms: number, outer?: AbortSignal) {
    this.#outer = outer;
    if (outer?.aborted) this.#abort();
    outer?.addEventListener("abort", this.#abort, { once: true });
    this.restart(ms);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Begins to count anew; 0 means without end, and so does what no timer can count. */
  restart(ms: number): void {
    this.rest();
    if (ms > 0 && ms <= longestTimer && this.ending === undefined) this.#timer = setTimeout(() => this.#end("timeout"), ms);
  }

  /** Stops the clock; the caller's signal still counts. */
  rest(): void {
    clearTimeout(this.#timer);
  }

  /** Stops watching. */
  done(): void {
    this.rest();
    this.#outer?.removeEventListener("abort", this.#abort);
  }

  /** Ends what it watches, for whoever wants no more of it. */
  cancel(): void {
    this.done();
    this.#controller.abort();
  }

  readonly #abort = (): void => this.#end("aborted");

  #end(ending: Ending): void {
    this.ending ??= ending;
    this.done();
    this.#controller.abort();
  }
}
