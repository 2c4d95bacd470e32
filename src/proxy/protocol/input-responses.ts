import { memberRange, withoutMember } from '../../core/json/json-member.js';
import { type InboundRequest, readRequest } from './inbound-message.js';

/** The members that a client adds when it repeats a request (MCP 2026-07-28, "Multi Round-Trip Requests"). */
const ADDED = ['requestState', 'inputResponses'];

/** The request as the client sent it at first; all other bytes stay the same. */
export function withoutInputResponses(message: InboundRequest): InboundRequest {
  if (!ADDED.some((name) => Object.hasOwn(message.params, name))) return message;
  const text = message.body.toString('utf8');
  const shortened = ADDED.reduce((json, name) => {
    const params = memberRange(json, 0, 'params');
    return params === undefined ? json : withoutMember(json, params.start, name);
  }, text);
  return readRequest(Buffer.from(shortened));
}
