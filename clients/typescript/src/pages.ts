import { InvalidAnswerError } from "./errors.js";
import { APIPromise } from "./promise.js";
import type { Answer } from "./transport.js";

/** One page of a list. Looping over it goes on through the pages after it. */
export class Page<T> implements AsyncIterable<T> {
  /** The things on this page; it may be empty and still have a next one. */
  readonly items: T[];
  /** Continues after this page; undefined at the end of the list. */
  readonly nextCursor: string | undefined;
  readonly #next: (cursor: string) => PagePromise<T>;

  constructor(items: T[], nextCursor: string | undefined, next: (cursor: string) => PagePromise<T>) {
    this.items = items;
    this.nextCursor = nextCursor;
    this.#next = next;
  }

  /** Reads the next page; undefined at the end. */
  async next(): Promise<Page<T> | undefined> {
    return this.nextCursor === undefined ? undefined : this.#next(this.nextCursor);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page: Page<T> | undefined = this; page; page = await page.next()) yield* page.items;
  }
}

/** Await it for one page, or loop over it for everything. */
export class PagePromise<T> extends APIPromise<Page<T>> implements AsyncIterable<T> {
  /** Loops over pages instead of things. */
  async *pages(): AsyncGenerator<Page<T>, void, undefined> {
    for (let page: Page<T> | undefined = await this; page; page = await page.next()) yield page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for await (const page of this.pages()) yield* page.items;
  }
}

/** How a page is read. */
export interface PageSource<T> {
  /** The member of the answer that holds the things. */
  member: string;
  fetch: (cursor: string | undefined) => Promise<Answer>;
  read: (answer: Answer) => unknown;
  /** Where to begin. */
  cursor?: string | undefined;
  /** Never called; carries the type of the things. */
  item?: (item: T) => void;
}

/** Reads a page and those after it; `seen` are the cursors of those before. */
export function paged<T>(source: PageSource<T>, cursor = source.cursor, seen: readonly string[] = []): PagePromise<T> {
  return new PagePromise<T>(source.fetch(cursor), (answer) => {
    const body = (source.read(answer) ?? {}) as Record<string, unknown>;
    const info = body["page_info"] as { has_next_page?: boolean; next_cursor?: string } | undefined;
    const next = info?.has_next_page ? info.next_cursor || undefined : undefined;
    return new Page<T>((body[source.member] ?? []) as T[], next, (after) => paged(source, after, noted(seen, cursor, after)));
  });
}

/** How many cursors are remembered: enough to notice a circle, and no more for a walk over millions. */
const mostSeen = 1000;

function noted(seen: readonly string[], cursor: string | undefined, after: string): readonly string[] {
  const before = cursor === undefined ? seen : [...seen.slice(1 - mostSeen), cursor];
  if (before.includes(after)) throw new InvalidAnswerError("The server answered the same cursor again: report this as a bug of the server.");
  return before;
}
