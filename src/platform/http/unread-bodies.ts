import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** Draining a body of this size costs less than a new connection. */
const MAX_DRAINED_BYTES = 16 * 1024;
/** How long the client has to read an early response and to close its side. */
const LINGER_MS = 1_000;

/**
 * Closes the connection after a response that precedes the end of the body (401, 404, 413, …), unless the body is
 * small. The rest of the body is not read. Sends `100 Continue` only when the body is about to be read.
 */
export function registerUnreadBodies(fastify: FastifyInstance): void {
  const server = fastify.server as Server;
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('resume', () => {
      if (!response.headersSent) response.writeContinue();
    });
    server.emit('request', request, response);
  });
  fastify.addHook('onRequest', (request, reply, done) => {
    limitUnreadBody(request.raw, reply.raw);
    done();
  });
}

/** Closes the connection after the response unless the body was read until then, or is small. */
export function limitUnreadBody(request: IncomingMessage, response: ServerResponse): void {
  if (mayLeaveLargeBodyUnread(request.headers)) closeUnlessRead(request, response);
}

/** Whether the request has a body, regardless of its method. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

function mayLeaveLargeBodyUnread(headers: IncomingHttpHeaders): boolean {
  // Without `100 Continue`, only the client knows whether it will send the body.
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > MAX_DRAINED_BYTES;
}

function closeUnlessRead(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  // Node calls this when the response is flushed. With unread bytes it would reset the connection and lose the
  // response.
  const { destroySoon } = socket;
  socket.destroySoon = () => linger(socket);
  request.once('end', () => {
    if (response.headersSent) return;
    response.shouldKeepAlive = shouldKeepAlive;
    socket.destroySoon = destroySoon;
  });
}

/** Closes the connection after its last response, without resetting it immediately. */
export function linger(socket: Socket): void {
  socket.end();
  // Node resumes the request when its response ends. Pausing leaves further bytes in the kernel.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
