import type { FastifyReply } from 'fastify';
import { CallScope } from '../../upstreams/call-scope.js';
import { onceClosed } from './once-closed.js';

/** The time of a call that is answered by this reply: a caller who hangs up before the end cancels it. */
export function scopeOfReply(reply: FastifyReply, timeoutMs: number): CallScope {
  const scope = new CallScope(undefined, timeoutMs);
  onceClosed(reply, () => (reply.raw.writableFinished ? scope.end() : scope.cancel()));
  return scope;
}
