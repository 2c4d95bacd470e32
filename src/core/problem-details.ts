import { ERROR_CODES, type ErrorCode } from './error-codes.js';
import { DomainError, type FieldError } from './domain-error.js';

export const PROBLEM_CONTENT_TYPE = 'application/problem+json; charset=utf-8';

/** An error outside JSON-RPC (RFC 9457). `type` links to the documentation of the code. */
interface ProblemDetails {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: ErrorCode;
  request_id: string;
  errors?: readonly FieldError[];
}

export function problemDetails(error: DomainError, requestId: string): ProblemDetails {
  return {
    type: `urn:signalbox:error:${error.code}`,
    title: error.title,
    status: error.status,
    detail: error.detail ?? `${ERROR_CODES[error.code][1]}.`,
    code: error.code,
    request_id: requestId,
    ...error.data,
    ...(error.errors === undefined || error.errors.length === 0 ? {} : { errors: error.errors }),
  };
}
