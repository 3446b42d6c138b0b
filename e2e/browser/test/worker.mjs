// A worker made of words: it claims a run and tells about it whatever a test says.
// With it a test has any kind of event, as fast as it likes, from a real server.
import { patience } from "./server.mjs";

let workers = 0;

export class Worker {
  #server;
  #process;
  #job;
  #next = 1;
  #beat;
  #heard = []; // directives that came with a heartbeat, which nobody tells again

  /** Starts a run and claims it as a worker of its own; start does it in another way than by the API. */
  static async claim(server, { host = `scripted-${process.pid}-${workers + 1}`, start, ...body } = {}) {
    const worker = new Worker();
    worker.#server = server;
    worker.#process = { worker_host: host, worker_id: `${host}/${++workers}` };
    await worker.#call("connect", { version: "test", protocol: 1 });
    start ??= () => server.startRun({ prompt: "Do as the script says", title: "Scripted", ...body, config: { ...body.config, worker_host: host } });
    await start();
    await worker.#take();
    worker.runID = worker.#job.run_id;
    return worker;
  }

  async #take() {
    const { jobs } = await this.#call("claim", { version: "test", limit: 1, capacity: 1, known: [] });
    if (jobs?.length !== 1) throw new Error(`${jobs?.length} jobs were claimed`);
    this.#job = jobs[0];
    this.#next = 1;
    await this.#report({ started: true });
    const beat = async () => this.#heard.push(...((await this.#call("heartbeat", { held: [this.#ref] })).directives ?? []));
    this.#beat = setInterval(() => beat().catch(() => clearInterval(this.#beat)), 5000); // until the server is gone
    this.#beat.unref();
  }

  async #call(route, body) {
    const response = await fetch(`${this.#server.url}/api/v1/worker/${route}`, {
      method: "POST",
      headers: { authorization: `Bearer ${this.#server.key}`, "content-type": "application/json" },
      body: JSON.stringify({ ...this.#process, ...body }),
      signal: AbortSignal.timeout(patience),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`worker ${route}: ${response.status} ${text}`);
    return text === "" ? {} : JSON.parse(text);
  }

  get #ref() {
    return { execution_id: this.#job.execution_id, token: this.#job.token };
  }

  async #report(report) {
    const { errors } = await this.#call("report", { reports: [{ ...this.#ref, first: this.#next, ...report }] });
    if (errors?.[0]) throw new Error(`report: ${JSON.stringify(errors[0])}`);
    this.#next += report.events?.length ?? 0;
  }

  /** Tells events: [type, data] each, and when it happened if that was not now. */
  async tell(...events) {
    const time = new Date().toISOString();
    await this.#report({ events: events.map(([type, data, at = time]) => ({ type, time: at, data })) });
  }

  /** Asks people, and gives back what they said; nothing when the run is ended instead. */
  async ask(question) {
    await this.tell(["permission_request", question]);
    const result = { turn: this.#job.turn.followup_id || "prompt", state: "BLOCKED", ask: `question-${this.#next}` };
    const cancelled = async () => (await this.#server.run(this.runID)).state === "CANCELLED";
    for (;;) {
      if (await cancelled()) return undefined;
      const answer = await this.#call("end-turn", { ...this.#ref, result }).catch(async (error) => {
        if (!(await cancelled())) throw error; // otherwise it was between the two calls, and the worker has lost the run
      });
      if (!answer) return undefined;
      if (answer.next) return answer.next.message;
      const { directives } = await this.#call("directives", {}); // waits on the server until something has changed
      if (directives?.some((one) => one.kind === "stop")) return undefined;
    }
  }

  /** Waits until the control plane says something about the run. */
  async directive() {
    for (;;) {
      const { directives } = await this.#call("directives", {});
      const told = [...this.#heard.splice(0), ...(directives ?? [])];
      if (told.length > 0) return told[0].kind;
    }
  }

  /** Ends the turn; the next one, if there is, goes on here. */
  async end(state = "SUCCEEDED", message = "", code = "") {
    clearInterval(this.#beat);
    const { next } = await this.#call("end-turn", { ...this.#ref, result: { turn: this.#job.turn.followup_id || "prompt", state, message, code } });
    if (next) this.#job.turn = next;
    return next;
  }
}

/** The events of a tool call. */
export const call = (id, name, input, category = "command") => ["tool_call", { id, category, name, input }];
export const output = (text, id = "", stream = "stdout") => ["output", { stream, text, tool_call_id: id }];
export const result = (id, name, state = "completed", data = {}, category = "command") => ["tool_result", { id, category, name, state, output: data }];
export const says = (text) => ["message", { role: "assistant", text }];
