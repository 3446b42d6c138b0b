import { Connection } from "./connection.js";
import { APIError, ConnectionError, InvalidAnswerError } from "./errors.js";
import { isTerminal, type RunEvent, type StateEvent } from "./events.js";
import type { Query } from "./options.js";
import { longestRetryAfter, pause, retryable } from "./retry.js";
import type { Frame } from "./sse.js";
import { aborted, sleep } from "./time.js";
import type { Transport } from "./transport.js";

/** What is followed over as many connections as it takes. */
export interface Subject<T> {
  /** Names it in errors. */
  name: string;
  path: string;
  query?: Query;
  /** Where the next connection goes on. */
  resume(): string | undefined;
  /** Returns the event of a frame; undefined for one that came before. */
  take(frame: Frame): T | undefined;
  /** The last state that was delivered is an end: an orderly end of the connection is the end of everything. */
  ended: boolean;
  /** Asks the server whether it has ended. What came before may still be on its way. */
  look(signal: AbortSignal | undefined): Promise<boolean>;
}

/**
 * Yields each event once and in order, over connections that are replaced when they break.
 * It ends when the subject has ended, when the loop is left, when the signal says so, or
 * with an error that connecting again cannot fix.
 */
export async function* follow<T>(transport: Transport, subject: Subject<T>, signal?: AbortSignal): AsyncGenerator<T, void, undefined> {
  let looked = false; // it had ended when we last asked
  for (let failures = 0; ; ) {
    let fresh = false;
    const connection = new Connection(transport, subject.path, signal);
    let failure: unknown;
    try {
      for await (const frame of connection.frames(subject.query, subject.resume())) {
        const event = subject.take(frame);
        if (event === undefined) continue;
        fresh = true;
        yield event;
      }
    } catch (error) {
      failure = error;
    }
    if (signal?.aborted) throw aborted(signal);
    // Half a frame is no sign of life: it would come again and again where something cuts it each time.
    if (fresh || connection.alive) failures = 0;
    if (connection.over) return;
    if (failure === undefined) {
      // A proxy or a server that stops ends connections in good order, too, and in the middle of an old log.
      if (subject.ended || (looked && !fresh)) return;
      try {
        looked = await subject.look(signal);
        if (looked) continue; // one more connection brings what came in between
      } catch (error) {
        failure = error;
      }
    }
    if (failure !== undefined && !retryable(failure, true)) throw failure;
    if (failures >= transport.streamRetries) throw gaveUp(subject.name, failures + 1, failure);
    await sleep(pauseAfter(transport, connection, failure, failures++), signal);
  }
}

function gaveUp(name: string, connections: number, cause: unknown): ConnectionError {
  const reason = cause instanceof Error ? cause.message : "the server ended each of them at once";
  return new ConnectionError(`Following ${name}: gave up after ${connections} connections in a row that brought nothing: ${reason}`, { cause });
}

function pauseAfter(transport: Transport, connection: Connection, failure: unknown, failures: number): number {
  if (failure instanceof APIError && failure.retryAfter !== undefined) return Math.min(failure.retryAfter, longestRetryAfter) * 1000;
  return Math.max(connection.retry, pause(transport.backoff, failures));
}

/** The log of one run. */
export class RunLog implements Subject<RunEvent> {
  readonly name: string;
  readonly path: string;
  ended = false;
  #last: number;
  readonly #state: (signal: AbortSignal | undefined) => Promise<string>;

  constructor(runId: string, path: string, after: number, state: (signal: AbortSignal | undefined) => Promise<string>) {
    this.name = `run ${runId}`;
    this.path = path;
    this.#last = after;
    this.#state = state;
  }

  resume(): string | undefined {
    return this.#last > 0 ? String(this.#last) : undefined;
  }

  take(frame: Frame): RunEvent | undefined {
    const event = parse<RunEvent>(frame, `after ${this.#last}`);
    // Frames without a sequence are not events of the log.
    if (typeof event.sequence !== "number" || event.sequence <= this.#last) return undefined;
    if (event.type === "state") this.ended = isTerminal(event.data.to);
    this.#last = event.sequence;
    return event;
  }

  async look(signal: AbortSignal | undefined): Promise<boolean> {
    return isTerminal(await this.#state(signal));
  }
}

/** The changes of state of all runs, which never end. */
export class StateChanges implements Subject<StateEvent> {
  readonly name = "the states of runs";
  readonly path = "/agent/events/stream";
  readonly query: Query;
  readonly ended = false;
  #cursor: string | undefined;

  constructor(query: Query) {
    this.query = query;
  }

  resume(): string | undefined {
    return this.#cursor;
  }

  take(frame: Frame): StateEvent {
    const event = parse<StateEvent>(frame, this.#cursor === undefined ? "at the start" : "after the last one");
    this.#cursor = frame.id || this.#cursor;
    return event;
  }

  async look(): Promise<boolean> {
    return false;
  }
}

/** A frame that cannot be read is final: the same one would come again. */
function parse<T>(frame: Frame, where: string): T {
  try {
    return JSON.parse(frame.data) as T;
  } catch (cause) {
    throw new InvalidAnswerError(`The event ${where} is not readable.`, { cause });
  }
}
