import { describe, expect, it } from '@jest/globals';
import {
  BadRequestException,
  ForbiddenException,
  HttpException,
  NotFoundException,
  UnauthorizedException,
} from '@nestjs/common';
import { DomainError } from './domain-error.js';
import { problemDetails } from './problem-details.js';
import { toDomainError } from './to-domain-error.js';

const SECRET = 'secret-in-the-cause';

function withCode(code: string): Error {
  return Object.assign(new Error(SECRET), { code });
}

describe('toDomainError', () => {
  it('leaves a domain error as it is', () => {
    const error = new DomainError('thread_exists');
    expect(toDomainError(error)).toBe(error);
  });

  it.each<[string, unknown, string, number]>([
    ['a route that Nest does not find', new NotFoundException(SECRET), 'unknown_route', 404],
    ['a guard that refuses', new ForbiddenException(SECRET), 'permission_denied', 403],
    ['a guard that knows nobody', new UnauthorizedException(SECRET), 'credential_invalid', 401],
    ['a bad request', new BadRequestException(SECRET), 'invalid_request', 400],
    ['a method that is not allowed', new HttpException(SECRET, 405), 'method_not_allowed', 405],
    ['a server error of Nest', new HttpException(SECRET, 502), 'internal', 500],
    ['a body over the limit', withCode('FST_ERR_CTP_BODY_TOO_LARGE'), 'body_too_large', 413],
    ['another content type', withCode('FST_ERR_CTP_INVALID_MEDIA_TYPE'), 'unsupported_media_type', 415],
    ['a URL that cannot be decoded', withCode('FST_ERR_BAD_URL'), 'unknown_route', 404],
    ['a refused connection', withCode('ECONNREFUSED'), 'storage_unavailable', 503],
    ['a server that shuts down', withCode('57P01'), 'storage_unavailable', 503],
    ['too many connections', withCode('53300'), 'storage_unavailable', 503],
    ['a lost connection, wrapped by TypeORM', { driverError: withCode('08006') }, 'storage_unavailable', 503],
    ['a lost connection that has no code', new Error('Connection terminated unexpectedly'), 'storage_unavailable', 503],
    ['a violated constraint', withCode('23505'), 'internal', 500],
    ['an error of ours', new TypeError(SECRET), 'internal', 500],
    ['a text', SECRET, 'internal', 500],
    ['nothing', undefined, 'internal', 500],
  ])('answers %s', (_what, thrown, code, status) => {
    const error = toDomainError(thrown);
    expect(error).toMatchObject({ code, status });
    expect(JSON.stringify(problemDetails(error, 'request-1'))).not.toContain(SECRET);
  });

  it('says when to come back while the storage is away', () => {
    expect(toDomainError(withCode('ECONNRESET')).headers).toEqual({ 'retry-after': '1' });
  });

  it('keeps what it does not know as the cause, for the log', () => {
    const thrown = new TypeError('bug');
    expect(toDomainError(thrown).cause).toBe(thrown);
  });
});
