import type { HttpException } from '@nestjs/common';
import { DomainError } from './domain-error.js';
import type { ErrorCode } from './error-codes.js';

/** The code of each status that Nest names (`HttpStatus`). */
const CODE_OF_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  401: 'credential_invalid',
  402: 'payment_required',
  403: 'permission_denied',
  404: 'not_found',
  405: 'method_not_allowed',
  406: 'not_acceptable',
  407: 'proxy_authentication_required',
  408: 'request_timeout',
  409: 'conflict',
  410: 'gone',
  411: 'length_required',
  412: 'precondition_failed',
  413: 'body_too_large',
  414: 'uri_too_long',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  417: 'expectation_failed',
  418: 'im_a_teapot',
  421: 'misdirected_request',
  422: 'unprocessable_entity',
  423: 'locked',
  424: 'failed_dependency',
  428: 'precondition_required',
  429: 'too_many_requests',
  456: 'unrecoverable_error',
  500: 'internal',
  501: 'not_implemented',
  502: 'bad_gateway',
  503: 'service_unavailable',
  504: 'gateway_timeout',
  505: 'http_version_not_supported',
  507: 'insufficient_storage',
  508: 'loop_detected',
};

/** Nest's message for paths without a route. It repeats the URL, which can contain a secret. */
const UNKNOWN_ROUTE = /^Cannot [A-Z]+ /;

/**
 * Converts the exception of a guard, a pipe or a handler, and keeps its status. Below 500 its message becomes the
 * detail. From 500 on the message appears only in the log, because it often repeats that of another error; throw a
 * `DomainError` to show one.
 */
export function fromHttpException(error: HttpException): DomainError {
  const status = error.getStatus();
  const message = messageOf(error);
  if (status === 404 && message !== undefined && UNKNOWN_ROUTE.test(message)) return new DomainError('unknown_route');
  // A status outside 400 to 599 is a bug in the code that threw it.
  if (!(status >= 400 && status < 600)) return new DomainError('internal', undefined, [], { cause: error });
  if (status >= 500) return new DomainError(codeOf(status), undefined, [], { cause: error, status });
  return new DomainError(codeOf(status), message, [], { status });
}

/** A status without its own code gets the code of its class (RFC 9110 §15). */
function codeOf(status: number): ErrorCode {
  return CODE_OF_STATUS[status] ?? (status < 500 ? 'invalid_request' : 'internal');
}

/**
 * The text that Nest's own filter would show; a `ValidationPipe` has several. Nest does not show that of a wrapped
 * error either.
 */
function messageOf(error: HttpException): string | undefined {
  const response = error.getResponse();
  if (typeof response === 'string') return response || undefined;
  if (response instanceof Error || !('message' in response)) return undefined;
  const text = [response.message].flat().filter((line) => typeof line === 'string');
  return text.join('; ') || undefined;
}
