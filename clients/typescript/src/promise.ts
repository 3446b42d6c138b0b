import type { Answer } from "./transport.js";

/** What `withResponse` resolves to. */
export interface WithResponse<T> {
  data: T;
  response: Response;
}

/**
 * The promise that every call returns. Awaiting it gives the decoded answer; `asResponse`
 * and `withResponse` give the answer itself with its status and headers.
 */
export class APIPromise<T> extends Promise<T> {
  readonly #answer: Promise<Answer>;
  readonly #read: (answer: Answer) => T;
  #data: Promise<T> | undefined;

  /** then, catch and finally make plain promises. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  constructor(answer: Promise<Answer>, read: (answer: Answer) => T) {
    super((resolve) => resolve(undefined as T)); // then is overridden, so this value is never seen
    this.#answer = answer;
    this.#read = read;
  }

  /** The answer with its status and headers. Its body has arrived in full, except for downloads. */
  async asResponse(): Promise<Response> {
    return (await this.#answer).response;
  }

  /** The decoded answer and the answer itself. */
  async withResponse(): Promise<WithResponse<T>> {
    const [data, { response }] = await Promise.all([this.#decoded(), this.#answer]);
    return { data, response };
  }

  override then<A = T, B = never>(
    onFulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#decoded().then(onFulfilled, onRejected);
  }

  override catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.#decoded().catch(onRejected);
  }

  override finally(onFinally?: (() => void) | null): Promise<T> {
    return this.#decoded().finally(onFinally);
  }

  #decoded(): Promise<T> {
    return (this.#data ??= this.#answer.then(this.#read));
  }
}
