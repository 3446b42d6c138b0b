import { AbortError, APIError, TimeoutError } from "./errors.js";
import { isTerminal } from "./events.js";
import type { RunItem } from "./generated/types.js";
import { longestRetryAfter, pause, retryable } from "./retry.js";
import { aborted, Deadline, sleep } from "./time.js";
import type { Transport } from "./transport.js";

const firstPoll = 200;
const longestPoll = 3_000;

/** How to wait for a run. */
export interface WaitOptions {
  /** The longest to wait, in milliseconds; without it, as long as it takes. */
  timeout?: number | undefined;
  /** The time between two looks, in milliseconds; by default it begins with 200 and slows down to 3,000. */
  interval?: number | undefined;
  /** Called with the run at first and after each change of its state. */
  onChange?: ((run: RunItem) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the run when it has ended, however it ended. A run that is BLOCKED waits for a
 * follow-up, and so does this. An outage of the server is bridged.
 */
export async function wait(
  transport: Transport,
  get: (signal: AbortSignal) => PromiseLike<RunItem>,
  runId: string,
  options: WaitOptions,
): Promise<RunItem> {
  const deadline = new Deadline(options.timeout ?? 0, options.signal);
  let state: string | undefined;
  try {
    for (let looks = 0, failures = 0; ; looks++) {
      let rest = options.interval || Math.min(firstPoll * 2 ** Math.floor(looks / 2), longestPoll);
      try {
        const run = await get(deadline.signal);
        failures = 0;
        if (run.state !== state) options.onChange?.(run);
        state = run.state;
        if (isTerminal(run.state)) return run;
      } catch (error) {
        if (!retryable(error, true) || failures >= transport.streamRetries) throw error;
        rest = Math.max(pause(transport.backoff, failures++), asked(error));
      }
      await sleep(rest, deadline.signal);
    }
  } catch (error) {
    if (!(error instanceof AbortError)) throw error;
    if (deadline.ending === "timeout") throw new TimeoutError(`Run ${runId} did not end in time; last seen ${state ?? "never"}.`);
    throw aborted(options.signal);
  } finally {
    deadline.done();
  }
}

/** The pause in milliseconds that the server asks for, as far as it gets it. */
function asked(error: unknown): number {
  const seconds = error instanceof APIError ? (error.retryAfter ?? 0) : 0;
  return Math.min(seconds, longestRetryAfter) * 1000;
}
