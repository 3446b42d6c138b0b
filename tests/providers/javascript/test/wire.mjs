// HTTP requests byte by byte, from any loopback address: the tests send header
// values that no HTTP client would let pass.
import { connect } from "node:net";
import { once } from "node:events";
import { patience } from "./support.mjs";

/** One connection to a server, used for one request after the other. */
export class Wire {
  constructor(url, from = "127.0.0.1") {
    this.url = new URL(url);
    this.from = from;
  }

  async open() {
    this.socket = connect({ host: this.url.hostname, port: Number(this.url.port), localAddress: this.from });
    this.socket.setTimeout(patience, () => this.socket.destroy(new Error("the server did not answer in time")));
    this.socket.setNoDelay(true);
    await once(this.socket, "connect");
    this.chunks = this.socket[Symbol.asyncIterator]();
    this.rest = Buffer.alloc(0);
  }

  /** Posts a body; headers is a list of [name, bytes]. Answers {status, body}. */
  async post(headers, body) {
    if (!this.socket) await this.open();
    const lines = [`POST ${this.url.pathname} HTTP/1.1\r\nHost: ${this.url.host}\r\nContent-Length: ${body.length}\r\n`];
    for (const [name, value] of headers) lines.push(`${name}: `, value, "\r\n");
    lines.push("\r\n", body);
    this.socket.write(Buffer.concat(lines.map((part) => Buffer.from(part))));
    const answer = await this.#answer();
    if (answer.close) this.close();
    return answer;
  }

  async #answer() {
    let end;
    while ((end = this.rest.indexOf("\r\n\r\n")) < 0) await this.#more();
    const head = this.rest.subarray(0, end).toString("latin1");
    const length = Number(/^content-length: (\d+)$/im.exec(head)?.[1] ?? NaN);
    const close = /^connection: close$/im.test(head);
    if (Number.isNaN(length) && !close) throw new Error(`an answer without a length: ${head}`);
    const size = end + 4 + (Number.isNaN(length) ? 0 : length);
    while (this.rest.length < size) await this.#more();
    const body = this.rest.subarray(end + 4, size).toString();
    this.rest = this.rest.subarray(size);
    return { status: Number(head.split(" ", 2)[1]), body, close };
  }

  async #more() {
    const { value, done } = await this.chunks.next();
    if (done) throw new Error("the server closed the connection instead of answering");
    this.rest = Buffer.concat([this.rest, value]);
  }

  close() {
    this.socket?.destroy();
    this.socket = undefined;
  }
}
