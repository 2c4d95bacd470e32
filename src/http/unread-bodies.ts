import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/** A body of this size costs less to read away than a new connection. */
const READ_AWAY_BYTES = 16 * 1024;
/** How long the client has to take an early answer and to close its side. */
const LINGER_MS = 1_000;

/**
 * Answers that are given before the body was read (401, 404, 413, …) close the connection, unless the body is small. The rest
 * of the body is not read. `100 Continue` is sent when the body is about to be read, not before.
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
    if (mayLeaveMuchUnread(request.headers)) closeUnlessRead(request.raw, reply.raw);
    done();
  });
}

/** Does the request have a body, whatever its method? */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

function mayLeaveMuchUnread(headers: IncomingHttpHeaders): boolean {
  // Without `100 Continue`, only the client knows whether it sends the body all the same.
  if (headers['transfer-encoding'] !== undefined || headers.expect !== undefined) return true;
  return Number(headers['content-length'] ?? 0) > READ_AWAY_BYTES;
}

function closeUnlessRead(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  const { shouldKeepAlive } = response;
  response.shouldKeepAlive = false;
  // Node calls it as soon as the answer is flushed. With unread bytes it would reset the connection, and the answer with it.
  const { destroySoon } = socket;
  socket.destroySoon = () => linger(socket);
  request.once('end', () => {
    if (response.headersSent) return;
    response.shouldKeepAlive = shouldKeepAlive;
    socket.destroySoon = destroySoon;
  });
}

/** Closes the connection when its last answer is sent, without resetting it at once. */
export function linger(socket: Socket): void {
  socket.end();
  // Node resumes the request when its answer has ended; what still comes stays in the kernel.
  setImmediate(() => socket.pause());
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
