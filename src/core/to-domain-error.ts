import { HttpException } from '@nestjs/common';
import { DomainError, storageUnavailable } from './domain-error.js';
import { fromHttpException } from './from-http-exception.js';

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

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return 'driverError' in error ? codeOf(error.driverError) : '';
}
