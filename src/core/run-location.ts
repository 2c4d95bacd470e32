import type { FastifyReply } from 'fastify';
import type { Principal } from './principal.js';

/** Names the run that a 202 is about (RFC 9110 §15.3.3). */
export function setRunLocation(reply: FastifyReply, { organization }: Principal, runId: string): void {
  void reply.header('location', `/api/${organization.slug}/agent-runtime/runs/${runId}`);
}

/** Names the stream of a thread, where no run is concerned. */
export function setThreadLocation(reply: FastifyReply, { organization }: Principal, threadId: string): void {
  const thread = `/api/${organization.slug}/agent-runtime/threads/${encodeURIComponent(threadId)}`;
  void reply.header('location', `${thread}/stream`);
}
