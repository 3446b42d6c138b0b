import type { RunEvent, StateEvent } from "./events.js";
import { Runs as GeneratedRuns, type RunsStreamStatesQuery } from "./generated/runs.js";
import type { RunItem } from "./generated/types.js";
import { path } from "./resource.js";
import { follow, RunLog, StateChanges } from "./stream.js";
import type { Transport } from "./transport.js";
import { wait, type WaitOptions } from "./wait.js";

/** How to follow a run. */
export interface StreamOptions {
  /** Begins after this sequence; by default with the first event. */
  after?: number | undefined;
  signal?: AbortSignal | undefined;
}

/** Starts, follows and steers runs. */
export class Runs extends GeneratedRuns {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /**
   * Follows a run's log: first what there is, then events as they happen, each once and in
   * order however often the connection breaks. It ends when the run has ended; leaving the
   * loop frees the connection.
   */
  stream(runId: string, options: StreamOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    const state = async (signal: AbortSignal | undefined) => (await this.get(runId, {}, { signal })).state;
    const log = new RunLog(runId, path`/agent/runs/${runId}/events`, options.after ?? 0, state);
    return follow(this.#transport, log, options.signal);
  }

  /**
   * Follows the state changes of all runs that the key may see, with the filters of list.
   * It goes on until the loop is left or the signal says so.
   */
  streamStates(query: RunsStreamStatesQuery = {}, options: { signal?: AbortSignal | undefined } = {}): AsyncGenerator<StateEvent, void, undefined> {
    return follow(this.#transport, new StateChanges({ ...query }), options.signal);
  }

  /** Returns the run when it has ended, however it ended: look at its state. */
  wait(runId: string, options: WaitOptions = {}): Promise<RunItem> {
    return wait(this.#transport, (signal) => this.get(runId, {}, { signal }), runId, options);
  }
}
