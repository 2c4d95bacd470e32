import { HttpException } from '@nestjs/common';
import { DomainError, storageUnavailable } from './domain-error.js';
import type { ErrorCode } from './error-codes.js';

/** A status without its own code gets the code of its class (RFC 9110 §15). */
function codeOfStatus(status: number): ErrorCode {
  return CODE_OF_STATUS[status] ?? (status < 500 ? 'invalid_request' : 'internal');
}

/**
 * PostgreSQL error classes that mean the server is unavailable or shutting down, or has rolled a transaction back that
 * can be repeated, such as one of a deadlock (Appendix A of its manual).
 */
const STORAGE_AWAY_CLASSES = ['08', '57', '53', '40'];
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
const CLIENT_SENTENCES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  // A client outside a pool
  'timeout expired',
  'Connection is closed',
  "Stream isn't writeable",
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'Query read timeout',
  // TypeORM, in the middle of a transaction
  'Query runner already released',
  'provided by a query runner was already released',
  // ioredis
  'Reached the max retries per request limit',
  'Command timed out',
  'All sentinels are unreachable',
  'Failed to refresh slots cache',
  'Too many Cluster redirections',
];

/** The words with which Redis refuses commands for now. */
const REDIS_AWAY = /^(?:LOADING|BUSY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|UNBLOCKED|READONLY|NOREPLICAS) /;

/** Fastify's errors that are the caller's doing (its `lib/errors.js`). */
const FASTIFY_CODES = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed_json',
  FST_ERR_CTP_INVALID_JSON_BODY: 'malformed_json',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_BAD_URL: 'unknown_route',
  FST_ERR_MAX_PARAM_LENGTH: 'unknown_route',
} as const;

/**
 * Everything that can be thrown, as the error that callers may see. What is not known is `internal`, without detail.
 */
export function toDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  // Nest wraps errors of Fastify into its own.
  const code = codeOf(error instanceof HttpException ? error.cause : error);
  const fastify = Object.entries(FASTIFY_CODES).find(([known]) => known === code);
  if (fastify !== undefined) return new DomainError(fastify[1], undefined, [], { cause: error });
  if (error instanceof HttpException) return fromHttpException(error);
  if (isStorageAway(error, code)) return storageUnavailable(error);
  return new DomainError('internal', undefined, [], { cause: error });
}

/**
 * What the log needs of an answered error: bugs, and what an `HttpException` of 500 or more does not show to callers.
 * Undefined for errors that were foreseen.
 */
export function unexpectedCause(error: DomainError): Error | undefined {
  const { cause, status } = error;
  if (status < 500 || (status > 500 && !(cause instanceof HttpException))) return undefined;
  return cause instanceof Error ? cause : error;
}

function isStorageAway(error: unknown, code: string): boolean {
  if (NETWORK_CODES.has(code)) return true;
  if (/^[0-9A-Z]{5}$/.test(code) && STORAGE_AWAY_CLASSES.includes(code.slice(0, 2))) return true;
  // Redis starts, or is about to stop.
  if (error instanceof Error && REDIS_AWAY.test(error.message)) return true;
  return error instanceof Error && CLIENT_SENTENCES.some((sentence) => error.message.includes(sentence));
}

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
function fromHttpException(error: HttpException): DomainError {
  const status = error.getStatus();
  const message = messageOf(error);
  if (status === 404 && message !== undefined && UNKNOWN_ROUTE.test(message)) return new DomainError('unknown_route');
  // A status outside 400 to 599 is a bug in the code that threw it.
  if (!(status >= 400 && status < 600)) return new DomainError('internal', undefined, [], { cause: error });
  if (status >= 500) return new DomainError(codeOfStatus(status), undefined, [], { cause: error, status });
  return new DomainError(codeOfStatus(status), message, [], { status });
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

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'driverError' in error ? codeOf(error.driverError) : '';
}
