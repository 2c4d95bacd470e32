import type { Socket } from 'node:net';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import { DomainError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { newId } from '../../core/ids.js';
import { PROBLEM_CONTENT_TYPE, problemDetails } from '../../core/problem-details.js';
import { REQUEST_ID_HEADER, logRequest } from './request-log.js';
import { SECURITY_HEADERS } from '../../core/security-headers.js';
import { linger } from './unread-bodies.js';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { toDomainError } from '../../core/to-domain-error.js';

const CODES: Readonly<Record<string, ErrorCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'body_too_large',
};

/** Node stores the current response on the socket of a request. */
interface ServedSocket extends Socket {
  readonly _httpMessage?: ServerResponse;
}

/** Responds to input that Node's HTTP parser rejects before a request exists, and closes the connection. */
export function answerClientError(error: NodeJS.ErrnoException, socket: ServedSocket): void {
  // Do not write into the middle of another response.
  if (error.code === 'ECONNRESET' || !socket.writable || socket._httpMessage?.headersSent === true) {
    socket.destroy();
    return;
  }
  const requestId = newId();
  const refusal = new DomainError(CODES[error.code ?? ''] ?? 'invalid_request');
  const body = JSON.stringify(problemDetails(refusal, requestId));
  const headers = {
    'content-type': PROBLEM_CONTENT_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    [REQUEST_ID_HEADER]: requestId,
    ...SECURITY_HEADERS,
    connection: 'close',
  };
  const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const status = `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n`;
  socket.write(`${status}${head.join('')}\r\n${body}`);
  linger(socket);
}

type FrameworkErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => void;

/**
 * Responds to requests that Fastify's router rejects before any hook or filter runs: undecodable URLs and overlong path
 * parameters. Applies what the hooks and the filter apply to every other request.
 */
export function answerFrameworkErrors(logger: Logger): FrameworkErrorHandler {
  return (thrown, request, reply) => {
    const error = toDomainError(thrown);
    reply.raw.once('finish', () => logRequest(logger, request, reply));
    void reply
      .status(error.status)
      .headers(SECURITY_HEADERS)
      .header(REQUEST_ID_HEADER, request.id)
      .header('content-type', PROBLEM_CONTENT_TYPE)
      .send(JSON.stringify(problemDetails(error, request.id)));
  };
}
