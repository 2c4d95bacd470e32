import type { FastifyReply } from 'fastify';

/**
 * Calls back when the reply has been sent or its caller has disconnected. Calls back immediately if that has already
 * happened, because no further event follows.
 * @returns forgets the callback
 */
export function onceClosed({ raw }: FastifyReply, callback: () => void): () => void {
  if (raw.destroyed) callback();
  else raw.once('close', callback);
  return () => void raw.off('close', callback);
}

/** Returns a signal that aborts when the reply is sent or its caller disconnects. */
export function untilClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  onceClosed(reply, () => closed.abort());
  return closed.signal;
}
