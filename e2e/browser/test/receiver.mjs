// A receiver of callbacks on this machine: it keeps what it is sent, and answers what it is told to.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { patience } from "./server.mjs";

/** What a server needs to send to a receiver here. */
export const allowPrivate = ["--callback-allow-private"];

export class Receiver {
  /** The status that it answers, or a function of the path that tells it. */
  status = 204;
  #got = [];
  #waiting = [];

  static async start() {
    const receiver = new Receiver();
    receiver.server = createServer(async (request, response) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const { status } = receiver;
      response.writeHead(typeof status === "function" ? status(request.url) : status).end();
      receiver.#take({ headers: request.headers, body: Buffer.concat(chunks).toString() });
    });
    receiver.server.listen(0, "127.0.0.1");
    await once(receiver.server, "listening");
    receiver.url = `http://127.0.0.1:${receiver.server.address().port}/lineshaft`;
    return receiver;
  }

  #take(callback) {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(callback);
    else this.#got.push(callback);
  }

  /** The next callback, whenever it comes. */
  next() {
    const callback = this.#got.shift();
    if (callback) return Promise.resolve(callback);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no callback came")), patience);
      this.#waiting.push((came) => {
        clearTimeout(timer);
        resolve(came);
      });
    });
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Whether a callback was signed with a secret, as Standard Webhooks say. */
export function authentic({ headers, body }, secret) {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const signature = createHmac("sha256", key).update(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`).digest("base64");
  return headers["webhook-signature"].split(" ").includes(`v1,${signature}`);
}

/** Asks again and again until the answer is as wanted. */
export async function until(ask, wanted) {
  for (const deadline = Date.now() + patience; Date.now() < deadline; await pause(20)) {
    const answer = await ask();
    if (wanted(answer)) return answer;
  }
  throw new Error("it never became so");
}
