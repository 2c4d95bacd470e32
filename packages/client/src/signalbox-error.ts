/** One fault in a request. */
export interface FieldError {
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** The members of a problem document (RFC 9457) that Signalbox sends. */
interface Problem {
  readonly title?: string;
  readonly detail?: string;
  readonly code?: string;
  readonly request_id?: string;
  readonly errors?: readonly FieldError[];
}

/** Signalbox refused a request. `code` is stable (docs/api/errors.md); `message` is for people. */
export class SignalboxError extends Error {
  override readonly name = 'SignalboxError';
  /** The HTTP status. */
  readonly status: number;
  /** Such as `thread_not_found`; `unknown` if the response came from something in between. */
  readonly code: string;
  readonly errors: readonly FieldError[];
  /** Quote it when you ask the operator. */
  readonly requestId: string | undefined;

  constructor(status: number, { title, detail, code = 'unknown', request_id: requestId, errors = [] }: Problem) {
    super(detail ?? title ?? `The server answered with status ${status}.`);
    this.status = status;
    this.code = code;
    this.errors = errors;
    this.requestId = requestId;
  }

  /** Reads the problem document; a response of a proxy in between may have none. */
  static async of(response: Response): Promise<SignalboxError> {
    const problem = (await response.json().catch(() => ({}))) as unknown;
    return new SignalboxError(response.status, typeof problem === 'object' && problem !== null ? problem : {});
  }
}
