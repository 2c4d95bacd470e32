import { describe, expect, it } from '@jest/globals';
import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/client';
import { errors } from 'undici';
import { AddressRefusedError } from '../../platform/net/address-policy.js';
import { addressLabel, toUpstreamError, UpstreamError, UpstreamMisbehaviour } from './upstream-error.js';

const ADDRESS = 'example.com:443';

function http(status: number, text = 'SECRET'): SdkHttpError {
  return new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${text}`, {
    status,
    text,
  });
}

function socket(code: string): Error {
  return Object.assign(new Error('SECRET'), { code });
}

function negotiation(cause: unknown): SdkError {
  return new SdkError(SdkErrorCode.EraNegotiationFailed, 'SECRET', { cause }, { cause });
}

function content(contentType: string | null): SdkError {
  return new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, 'SECRET', { contentType });
}

describe('toUpstreamError', () => {
  it.each<[error: unknown, kind: string, words: string]>([
    [socket('ECONNREFUSED'), 'unreachable', 'refused the connection'],
    [new AggregateError([socket('ECONNREFUSED'), socket('ENETUNREACH')]), 'unreachable', 'refused the connection'],
    [socket('ENOTFOUND'), 'unreachable', 'name does not resolve'],
    [socket('ECONNRESET'), 'unreachable', 'closed the connection'],
    [new errors.SocketError('SECRET'), 'unreachable', 'closed the connection'],
    [new errors.ConnectTimeoutError('SECRET'), 'unreachable', 'did not accept the connection in time'],
    [new errors.HeadersTimeoutError('SECRET'), 'timeout', 'did not answer in time'],
    [new errors.BodyTimeoutError('SECRET'), 'timeout', 'stopped sending'],
    [socket('CERT_HAS_EXPIRED'), 'unreachable', 'TLS handshake'],
    [socket('DEPTH_ZERO_SELF_SIGNED_CERT'), 'unreachable', 'TLS handshake'],
    [socket('ERR_TLS_CERT_ALTNAME_INVALID'), 'unreachable', 'TLS handshake'],
    [socket('HPE_INVALID_CONSTANT'), 'protocol', 'does not speak HTTP'],
    [negotiation(socket('ECONNREFUSED')), 'unreachable', 'refused the connection'],
    [http(401), 'unauthorized', 'answered 401: the stored credential was not accepted'],
    [http(403), 'unauthorized', 'answered 403'],
    [http(429), 'unreachable', 'answered 429'],
    [http(500), 'unreachable', 'answered 500'],
    [http(503), 'unreachable', 'answered 503'],
    [http(302), 'protocol', 'redirect is not followed'],
    [http(404), 'protocol', 'no MCP endpoint'],
    [http(418), 'protocol', 'answered 418'],
    [content('text/html; charset=utf-8'), 'protocol', 'does not speak MCP: it answered 200 text/html'],
    [content('<script>SECRET'), 'protocol', 'without a usable content type'],
    [content(null), 'protocol', 'without a usable content type'],
    [negotiation(content('text/html')), 'protocol', '200 text/html'],
    [new SyntaxError('SECRET'), 'protocol', 'malformed JSON'],
    [Object.assign(new Error('SECRET'), { name: 'ZodError' }), 'protocol', 'not JSON-RPC 2.0'],
    [new UpstreamMisbehaviour('repeats a page'), 'protocol', 'repeats a page'],
    [
      new UnsupportedProtocolVersionError({ supported: ['2030-01-01'], requested: 'x' }),
      'protocol',
      'protocol version',
    ],
    [new SdkError(SdkErrorCode.RequestTimeout, 'SECRET'), 'timeout', 'did not answer in time'],
    [new SdkError(SdkErrorCode.ConnectionClosed, 'SECRET'), 'cancelled', 'before the request was cancelled'],
    [new SdkError(SdkErrorCode.InvalidResult, 'SECRET'), 'protocol', 'does not fit the request'],
    [new SdkError(SdkErrorCode.UnsupportedResultType, 'SECRET'), 'protocol', 'further input'],
    [new Error('SECRET'), 'protocol', 'failed unexpectedly'],
    ['SECRET', 'protocol', 'failed unexpectedly'],
    [undefined, 'protocol', 'failed unexpectedly'],
  ])('maps %s to %s', (error, kind, words) => {
    const mapped = toUpstreamError(error, ADDRESS);
    expect(mapped.kind).toBe(kind);
    expect(mapped.message).toMatch(/^The upstream at example\.com:443 .*\.$/);
    expect(mapped.message).toContain(words);
    expect(JSON.stringify([mapped.message, mapped.cause, mapped.rpc])).not.toContain('SECRET');
  });

  it('keeps a JSON-RPC error separate from the message', () => {
    const mapped = toUpstreamError(new ProtocolError(-32602, 'bad argument 42', { path: 'a' }), ADDRESS);
    expect(mapped).toMatchObject({
      kind: 'rpc',
      rpc: { code: -32602, message: 'bad argument 42', data: { path: 'a' } },
    });
    expect(mapped.message).toBe('The upstream at example.com:443 answered with JSON-RPC error -32602.');
  });

  it('reads the JSON-RPC error from the body of an error status, except 401 and 5xx', () => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no such method' } });
    expect(toUpstreamError(http(404, body), ADDRESS)).toMatchObject({
      kind: 'rpc',
      status: 404,
      rpc: { code: -32601 },
    });
    expect(toUpstreamError(http(401, body), ADDRESS).kind).toBe('unauthorized');
    expect(toUpstreamError(http(502, body), ADDRESS).kind).toBe('unreachable');
    expect(toUpstreamError(http(400, '{"error":{"code":"x"}}'), ADDRESS).kind).toBe('protocol');
  });

  it('keeps the message of a refused address at any depth', () => {
    const refused = new AddressRefusedError('The host a.example resolves to a private address.');
    expect(toUpstreamError(negotiation(new TypeError('fetch failed', { cause: refused })), ADDRESS)).toMatchObject({
      kind: 'refused_address',
      message: refused.message,
    });
  });

  it('returns its own errors unchanged, and handles circular causes', () => {
    const own = new UpstreamError('timeout', 'x');
    expect(toUpstreamError(own, ADDRESS)).toBe(own);
    const circle = new Error('a');
    circle.cause = new Error('b', { cause: circle });
    expect(toUpstreamError(circle, ADDRESS).kind).toBe('protocol');
  });
});

describe('addressLabel', () => {
  it.each([
    ['https://example.com/mcp?key=secret', 'example.com:443'],
    ['http://example.com:8080/', 'example.com:8080'],
    ['http://[::1]/', '[::1]:80'],
  ])('labels %s', (url, label) => {
    expect(addressLabel(url)).toBe(label);
  });
});
