import type { FastifyReply } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import { WINDOW_S } from './quota-store.js';
import type { AppliedLimit } from './rate-limits.js';

const POLICY = 'ratelimit-policy';
const STATE = 'ratelimit';

/**
 * Adds the limits of a request to its response (draft-ietf-httpapi-ratelimit-headers-10). A request can have several.
 */
export function announceLimits(reply: FastifyReply, applied: readonly AppliedLimit[]): void {
  if (reply.raw.headersSent) return;
  for (const { limit, verdict } of applied) {
    append(reply, POLICY, `"${limit.name}";q=${limit.perMinute};w=${WINDOW_S}`);
    append(reply, STATE, `"${limit.name}";r=${verdict.remaining};t=${seconds(verdict.endsInMs)}`);
  }
}

/** The error for a request that one of the limits refuses; undefined if all admit it. */
export function refusalOf(applied: readonly AppliedLimit[]): DomainError | undefined {
  const refusing = applied.filter(({ verdict }) => !verdict.isAllowed);
  const [first] = refusing;
  if (first === undefined) return undefined;
  const wait = Math.max(1, ...refusing.map(({ verdict }) => seconds(verdict.endsInMs)));
  const detail = `The limit "${first.limit.name}" of ${first.limit.perMinute} per minute is reached. Retry in ${wait} seconds.`;
  return new DomainError('rate_limited', detail, [], { headers: { 'retry-after': String(wait) } });
}

function append(reply: FastifyReply, name: string, value: string): void {
  const present = reply.getHeader(name);
  void reply.header(name, present === undefined ? value : `${String(present)}, ${value}`);
}

function seconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1000);
}
