import { describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  ConflictException,
  ForbiddenException,
  HttpException,
  HttpStatus,
  NotFoundException,
  ServiceUnavailableException,
  UnauthorizedException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { QueryRunnerAlreadyReleasedError, QueryRunnerProviderAlreadyReleasedError } from 'typeorm';
import { DomainError } from './domain-error.js';
import { ERROR_CODES } from './error-codes.js';
import { problemDetails } from './problem-details.js';
import { toDomainError, unexpectedCause } from './to-domain-error.js';

const SECRET = 'secret-in-the-cause';
const MESSAGE = 'The invoice is closed.';

function withCode(code: string): Error {
  return Object.assign(new Error(SECRET), { code });
}

/** As the adapter hands on what Fastify throws. */
function wrapped(code: string, status: number): HttpException {
  return new HttpException(SECRET, status, { cause: withCode(code) });
}

describe('toDomainError', () => {
  it('leaves a domain error as it is', () => {
    const error = new DomainError('thread_exists');
    expect(toDomainError(error)).toBe(error);
  });

  it.each<[string, unknown, string, number]>([
    ['a route that Nest does not find', new NotFoundException(`Cannot GET /${SECRET}`), 'unknown_route', 404],
    ['an exception with an error for a message', new ConflictException(new Error(SECRET)), 'conflict', 409],
    ['an exception with another body', new HttpException({ other: SECRET }, 409), 'conflict', 409],
    ['a server error of an extension', new HttpException(SECRET, 502), 'bad_gateway', 502],
    ['an unknown server error of an extension', new HttpException(SECRET, 599), 'internal', 599],
    ['an exception that is no error', new HttpException(SECRET, 302), 'internal', 500],
    ['an error of Fastify that Nest wrapped', wrapped('FST_ERR_CTP_BODY_TOO_LARGE', 413), 'body_too_large', 413],
    ['a body over the limit', withCode('FST_ERR_CTP_BODY_TOO_LARGE'), 'body_too_large', 413],
    ['another content type', withCode('FST_ERR_CTP_INVALID_MEDIA_TYPE'), 'unsupported_media_type', 415],
    ['a URL that cannot be decoded', withCode('FST_ERR_BAD_URL'), 'unknown_route', 404],
    ['a refused connection', withCode('ECONNREFUSED'), 'storage_unavailable', 503],
    ['a server that shuts down', withCode('57P01'), 'storage_unavailable', 503],
    ['too many connections', withCode('53300'), 'storage_unavailable', 503],
    ['a lost connection, wrapped by TypeORM', { driverError: withCode('08006') }, 'storage_unavailable', 503],
    ['a lost connection that has no code', new Error('Connection terminated unexpectedly'), 'storage_unavailable', 503],
    [
      'a query after its transaction lost the connection',
      new QueryRunnerAlreadyReleasedError(),
      'storage_unavailable',
      503,
    ],
    ['the same from its manager', new QueryRunnerProviderAlreadyReleasedError(), 'storage_unavailable', 503],
    ['a master that became a replica', new Error("READONLY You can't write."), 'storage_unavailable', 503],
    ['a failover of Sentinels', new Error('All sentinels are unreachable.'), 'storage_unavailable', 503],
    ['a cluster without nodes', new Error('Failed to refresh slots cache.'), 'storage_unavailable', 503],
    ['a violated constraint', withCode('23505'), 'internal', 500],
    ['an error of ours', new TypeError(SECRET), 'internal', 500],
    ['a text', SECRET, 'internal', 500],
    ['nothing', undefined, 'internal', 500],
  ])('answers %s', (_what, thrown, code, status) => {
    const error = toDomainError(thrown);
    expect(error).toMatchObject({ code, status });
    expect(JSON.stringify(problemDetails(error, 'request-1'))).not.toContain(SECRET);
  });

  it.each<[HttpException, string, number]>([
    [new BadRequestException(MESSAGE), 'invalid_request', 400],
    [new UnauthorizedException(MESSAGE), 'credential_invalid', 401],
    [new ForbiddenException(MESSAGE), 'permission_denied', 403],
    [new NotFoundException(MESSAGE), 'not_found', 404],
    [new HttpException(MESSAGE, 405), 'method_not_allowed', 405],
    [new ConflictException({ message: MESSAGE, at: 1 }), 'conflict', 409],
    [new UnprocessableEntityException(['The invoice', 'is closed.']), 'unprocessable_entity', 422],
    [new HttpException(MESSAGE, 429), 'too_many_requests', 429],
    [new HttpException(MESSAGE, 451), 'invalid_request', 451],
  ])('answers an exception of Nest with its status and message: %s', (thrown, code, status) => {
    const detail = status === 422 ? 'The invoice; is closed.' : MESSAGE;
    expect(problemDetails(toDomainError(thrown), 'request-1')).toMatchObject({ code, status, detail });
  });

  it('knows every status that Nest has', () => {
    const statuses = Object.values(HttpStatus).filter((status) => typeof status === 'number' && status >= 400);
    expect(statuses.length).toBeGreaterThan(30);
    for (const status of statuses as number[]) {
      const { code } = toDomainError(new HttpException('', status));
      expect([code, ERROR_CODES[code][0]]).toEqual([code, status]);
    }
  });

  it('sends Retry-After while the storage is unavailable', () => {
    expect(toDomainError(withCode('ECONNRESET')).headers).toEqual({ 'retry-after': '1' });
  });

  it('keeps unknown errors as the cause, for the log', () => {
    const thrown = new TypeError('bug');
    expect(toDomainError(thrown).cause).toBe(thrown);
  });

  it('leaves bugs, and hidden messages of extensions, to the log', () => {
    const [bug, hidden] = [new TypeError('bug'), new ServiceUnavailableException(SECRET)];
    expect(unexpectedCause(toDomainError(bug))).toBe(bug);
    expect(unexpectedCause(toDomainError(hidden))).toBe(hidden);
    for (const foreseen of [new ConflictException(MESSAGE), withCode('ECONNREFUSED'), new DomainError('gone')]) {
      expect(unexpectedCause(toDomainError(foreseen))).toBeUndefined();
    }
  });
});
