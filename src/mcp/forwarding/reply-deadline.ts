import type { FastifyReply } from 'fastify';
import { CallDeadline } from '../../upstreams/contract/call-deadline.js';
import { onceClosed } from '../../http/once-closed.js';

/** The time of a call that is answered by this reply: a caller who hangs up before the end cancels it. */
export function deadlineOfReply(reply: FastifyReply, timeoutMs: number): CallDeadline {
  const scope = new CallDeadline(undefined, timeoutMs);
  onceClosed(reply, () => (reply.raw.writableFinished ? scope.end() : scope.cancel()));
  return scope;
}
