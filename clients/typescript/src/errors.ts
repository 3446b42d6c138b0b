import type { FileProblem } from "./generated/types.js";

/** Everything that this package throws is a LineshaftError, except mistakes in how it is called (TypeError). */
export class LineshaftError extends Error {
  override name = "LineshaftError";
}

/** No whole answer came: the connection was refused, broke or was never made. */
export class ConnectionError extends LineshaftError {
  override name = "ConnectionError";
}

/** The time that was allowed ran out. */
export class TimeoutError extends ConnectionError {
  override name = "TimeoutError";
}

/** The caller's AbortSignal ended the call; `cause` is its reason. */
export class AbortError extends LineshaftError {
  override name = "AbortError";
}

/** The server answered something that is not what it should be, such as broken JSON. */
export class InvalidAnswerError extends LineshaftError {
  override name = "InvalidAnswerError";
}

/** What is known of an answer that says no. */
export interface APIErrorFields {
  status: number;
  method: string;
  path: string;
  headers: Headers;
  title: string;
  code?: string | undefined;
  detail?: string | undefined;
  type?: string | undefined;
  instance?: string | undefined;
  requestId?: string | undefined;
  traceId?: string | undefined;
  retryable?: boolean | undefined;
  retryAfter?: number | undefined;
  problems?: FileProblem[] | undefined;
}

/** An answer of the server that says no. There is a class for each common status. */
export class APIError extends LineshaftError {
  override name = "APIError";
  /** The HTTP status. */
  readonly status: number;
  /** The kind of error, such as "resource_not_found"; undefined when something else than Lineshaft answered. */
  readonly code: string | undefined;
  /** What happened. */
  readonly title: string;
  /** Why it happened in this case, and what to do about it. */
  readonly detail: string | undefined;
  /** The address of a page that explains the error. */
  readonly type: string | undefined;
  /** The path that the server saw. */
  readonly instance: string | undefined;
  /** Finds the call in the server's log. */
  readonly requestId: string | undefined;
  readonly traceId: string | undefined;
  /** What the server says: the same call may succeed later. */
  readonly retryable: boolean;
  /** How many seconds the server asks to wait; undefined when it did not say. */
  readonly retryAfter: number | undefined;
  /** The mistakes in the files of a definition. */
  readonly problems: FileProblem[];
  /** The headers of the answer. */
  readonly headers: Headers;
  readonly method: string;
  readonly path: string;
  /** How often the call was sent. */
  attempts = 1;

  constructor(fields: APIErrorFields) {
    super(message(fields));
    this.status = fields.status;
    this.code = fields.code;
    this.title = fields.title;
    this.detail = fields.detail;
    this.type = fields.type;
    this.instance = fields.instance;
    this.requestId = fields.requestId;
    this.traceId = fields.traceId;
    this.retryable = fields.retryable ?? false;
    this.retryAfter = fields.retryAfter;
    this.problems = fields.problems ?? [];
    this.headers = fields.headers;
    this.method = fields.method;
    this.path = fields.path;
  }
}

/** 400: the server did not understand the request. */
export class BadRequestError extends APIError {
  override name = "BadRequestError";
}

/** 401: the key is missing, wrong, expired or revoked. */
export class AuthenticationError extends APIError {
  override name = "AuthenticationError";
}

/** 403: the key is good, but not for this. */
export class PermissionDeniedError extends APIError {
  override name = "PermissionDeniedError";
}

/** 404: there is no such thing, or not for this key. */
export class NotFoundError extends APIError {
  override name = "NotFoundError";
}

/** 409: the thing's state forbids it. */
export class ConflictError extends APIError {
  override name = "ConflictError";
}

/** 413: the body is over the server's limit. */
export class PayloadTooLargeError extends APIError {
  override name = "PayloadTooLargeError";
}

/** 422: the server knows the field or operation but does not offer it. */
export class UnprocessableError extends APIError {
  override name = "UnprocessableError";
}

/** 429: the caller has to wait; see retryAfter. */
export class RateLimitError extends APIError {
  override name = "RateLimitError";
}

/** 500 and above: the server failed. */
export class InternalServerError extends APIError {
  override name = "InternalServerError";
}

const byStatus: Record<number, typeof APIError> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  413: PayloadTooLargeError,
  422: UnprocessableError,
  429: RateLimitError,
};

/** Makes the error of an answer, whatever its body is. */
export function apiError(fields: APIErrorFields): APIError {
  const known = byStatus[fields.status] ?? (fields.status >= 500 ? InternalServerError : APIError);
  return new known(fields);
}

const keyAdvice = ": check the option apiKey, or LINESHAFT_API_KEY; `lineshaft apikey create` makes a new key";

function message(fields: APIErrorFields): string {
  const code = fields.code === undefined ? "" : ` ${fields.code}`;
  const text = fields.detail || fields.title;
  const request = fields.requestId === undefined ? "" : ` (request ${fields.requestId})`;
  const advice = fields.status === 401 ? keyAdvice : "";
  return `${fields.method} ${fields.path}: ${fields.status}${code}${text ? `: ${text}` : ""}${request}${advice}`;
}
