import type { FastifyReply } from 'fastify';

/**
 * Calls back when the reply has been sent or its caller has hung up; at once for one that hung up while something was waited
 * for, as no event tells of that any more.
 */
export function onceClosed({ raw }: FastifyReply, callback: () => void): void {
  if (raw.destroyed) callback();
  else raw.once('close', callback);
}

/** A signal that is aborted then. */
export function untilClosed(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  onceClosed(reply, () => closed.abort());
  return closed.signal;
}
