import { concat } from "./bytes.js";
import { type APIError, apiError, InvalidAnswerError } from "./errors.js";
import type { FileProblem } from "./generated/types.js";
import { retryAfter } from "./retry.js";
import type { Answer } from "./transport.js";
import { clip } from "./url.js";

const maxAnswerBytes = 256 << 20;
const maxErrorBytes = 1 << 20;

/** Reads a body to its end, up to what a program can take. */
export async function readBytes(response: Response, limit = maxAnswerBytes): Promise<Uint8Array<ArrayBuffer>> {
  const { bytes, whole } = await readUpTo(response, limit);
  if (!whole) throw new InvalidAnswerError(`The answer is larger than ${limit} bytes: ask for less with limit.`);
  return bytes;
}

async function readUpTo(response: Response, limit: number): Promise<{ bytes: Uint8Array<ArrayBuffer>; whole: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  while (reader && size <= limit) {
    const { done, value } = await reader.read();
    if (done) return { bytes: concat(chunks), whole: true };
    chunks.push(value);
    size += value.length;
  }
  await reader?.cancel();
  return { bytes: concat(chunks), whole: reader === undefined };
}

/** Decodes the text of an answer; one that has no content by its status is undefined. */
export function decode(what: string, { response, text }: Answer): unknown {
  if (text === "" && [202, 204, 205].includes(response.status)) return undefined;
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new InvalidAnswerError(`${what}: the answer is not JSON: check the server address.`, { cause });
  }
}

/** Makes an error of an answer, whatever its body is; `mask` takes out what nobody may see. */
export async function readError(method: string, path: string, response: Response, mask: (text: string) => string): Promise<APIError> {
  const { status, statusText, headers } = response;
  // What could be read of a broken body is still the best there is.
  const read = readUpTo(response, maxErrorBytes).then(({ bytes }) => new TextDecoder().decode(bytes), () => "");
  const text = mask(await read);
  const problem = parseProblem(text);
  const plain = headers.get("content-type")?.startsWith("text/plain") && !problem;
  const type = string(problem?.["type"]);
  return apiError({
    status,
    method,
    path,
    headers,
    title: string(problem?.["title"]) ?? statusText,
    detail: plain ? clip(text.trim(), 300) : string(problem?.["detail"]),
    code: string(problem?.["code"]) ?? codeFromType(type),
    type,
    instance: string(problem?.["instance"]),
    requestId: headers.get("x-request-id") ?? undefined,
    traceId: string(problem?.["trace_id"]),
    retryable: problem?.["retryable"] === true,
    retryAfter: retryAfter(headers),
    problems: Array.isArray(problem?.["problems"]) ? (problem["problems"] as FileProblem[]) : undefined,
  });
}

function parseProblem(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function string(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Takes the code from the last part of the type, where other servers of the same API have it alone. */
function codeFromType(type: string | undefined): string | undefined {
  const last = type?.replace(/\/+$/, "").split("/").pop();
  return last === undefined || last === "" || last === "about:blank" ? undefined : last.replaceAll("-", "_");
}
