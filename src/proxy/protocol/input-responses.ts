import { type InboundRequest, withoutMemberOf } from './inbound-message.js';

/** The members that a client adds when it repeats a request (MCP 2026-07-28, "Multi Round-Trip Requests"). */
const ADDED = ['requestState', 'inputResponses'];

/** The request as the client sent it at first; all other bytes stay the same. */
export function withoutInputResponses(message: InboundRequest): InboundRequest {
  const added = ADDED.filter((name) => Object.hasOwn(message.params, name));
  return added.reduce((request, name) => withoutMemberOf(request, ['params'], name), message);
}
