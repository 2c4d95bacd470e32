import { withoutCredentials } from './credential-forms.js';
import { ERROR_CODES, type ErrorCode } from './error-codes.js';

/** One fault in a request: its dot path into the body or query, the rule it broke, and a sentence. */
export interface FieldError {
  path: string;
  code: string;
  message: string;
}

/** Further members of an error's answer. */
type ErrorData = Readonly<Record<string, string | boolean | object>>;

/**
 * The only error that services throw on purpose. Filters turn it into an RFC 9457 problem document or a JSON-RPC error;
 * any other error becomes `internal` without detail.
 */
export class DomainError extends Error {
  readonly status: number;
  readonly title: string;

  /** A sentence for the caller. It must never contain arguments or results. */
  readonly detail: string | undefined;
  readonly errors: readonly FieldError[] | undefined;

  /**
   * @param options.status the HTTP status, if it differs from that of the code
   * @param options.data further members of the answer, for programs: in the problem document, or in `data` of JSON-RPC
   * Credentials in the detail and in the paths and messages of the errors are replaced, because both can repeat the
   * input.
   */
  constructor(
    readonly code: ErrorCode,
    detail?: string,
    errors?: readonly FieldError[],
    options?: {
      cause?: unknown;
      status?: number;
      headers?: Readonly<Record<string, string>>;
      data?: ErrorData;
    },
  ) {
    const shown = detail === undefined ? undefined : withoutCredentials(detail);
    super(shown ?? ERROR_CODES[code][1], { cause: options?.cause });
    this.name = 'DomainError';
    this.detail = shown;
    this.errors = errors?.map((fault) => ({
      ...fault,
      path: withoutCredentials(fault.path),
      message: withoutCredentials(fault.message),
    }));
    this.status = options?.status ?? ERROR_CODES[code][0];
    this.title = ERROR_CODES[code][1];
    this.headers = options?.headers ?? {};
    this.data = options?.data ?? {};
  }

  /** Response headers of the error, such as `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>;

  /** Further members of the answer. */
  readonly data: ErrorData;

  /** The same error with further response headers. */
  withHeaders(headers: Readonly<Record<string, string>>): DomainError {
    const { cause, status } = this;
    return new DomainError(this.code, this.detail, this.errors, {
      cause,
      status,
      headers: { ...this.headers, ...headers },
      data: this.data,
    });
  }
}

/** The error response while PostgreSQL or Redis is unavailable. */
export function storageUnavailable(cause?: unknown): DomainError {
  return new DomainError('storage_unavailable', 'Retry shortly.', [], {
    cause,
    headers: { 'retry-after': '1' },
  });
}

/** A request with one fault. */
export function faultAt(path: string, code: string, message: string): DomainError {
  return new DomainError('invalid_request', `${path}: ${message}`, [{ path, code, message }]);
}

/** @throws DomainError `invalid_request` that names the first fault, if there is one */
export function refuseFaults(faults: readonly FieldError[]): void {
  const [first] = faults;
  if (first !== undefined) throw new DomainError('invalid_request', `${first.path}: ${first.message}`, faults);
}
