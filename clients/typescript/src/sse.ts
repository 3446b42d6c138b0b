import { InvalidAnswerError } from "./errors.js";
import { longestRetryAfter } from "./retry.js";

/** Bounds what one event may take of memory. */
const maxFrame = 32 << 20;

/** One Server-Sent Event. */
export interface Frame {
  data: string;
  id: string | undefined;
}

/**
 * Cuts a stream into frames. Only a frame that a blank line ended is returned: what stands
 * before a cut is dropped and comes again after a resume.
 */
export class FrameParser {
  /** The pause in milliseconds that the server last asked for. */
  retry = 0;
  /** The same, once the frame that asked for it came whole. */
  opened = 0;
  /** A frame with a comment came whole: the server's sign of life. */
  comment = false;
  readonly #decoder = new TextDecoder();
  readonly #limit: number;
  #line: string[] = [];
  #data: string[] = [];
  #id: string | undefined;
  #begun = false;
  #commented = false;
  #size = 0;

  constructor(limit = maxFrame) {
    this.#limit = limit;
  }

  /** Takes some bytes and returns the frames that they complete. */
  push(bytes: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    const [first = "", ...rest] = this.#decoder.decode(bytes, { stream: true }).split("\n");
    this.#keep(first);
    for (const text of rest) {
      const frame = this.#endLine();
      if (frame) frames.push(frame);
      this.#keep(text);
    }
    return frames;
  }

  /** Says that the stream was cut within a frame. */
  get cut(): boolean {
    return this.#begun || this.#line.length > 0;
  }

  #keep(text: string): void {
    if (text === "") return;
    this.#line.push(text);
    this.#size += text.length;
    if (this.#size > this.#limit) throw new InvalidAnswerError("An event of the stream is too large.");
  }

  #endLine(): Frame | undefined {
    const line = this.#line.join("").replace(/\r$/, "");
    this.#line = [];
    if (line !== "") {
      this.#field(line);
      return undefined;
    }
    const frame = this.#data.length > 0 ? { data: this.#data.join("\n"), id: this.#id } : undefined;
    this.#data = [];
    this.#id = undefined;
    this.comment ||= this.#commented;
    this.opened = this.retry;
    this.#begun = this.#commented = false;
    this.#size = 0;
    return frame;
  }

  /** Reads one line; a comment, such as the server's sign of life, has no name. */
  #field(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "") {
      this.#commented = true;
      if (!this.#begun) this.#size = 0;
      return;
    }
    this.#begun = true;
    if (name === "data") this.#data.push(value);
    else if (name === "id") this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retry = Math.min(Number(value), longestRetryAfter * 1000);
  }
}
