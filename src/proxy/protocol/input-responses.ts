import { memberRange, withoutMember } from '../../core/json/json-member.js';
import { type InboundMessage, type InboundRequest, readMessage } from './inbound-message.js';

/** The members that a client adds when it repeats a request (MCP 2026-07-28, "Multi round-trip requests"). */
const ADDED = ['requestState', 'inputResponses'];

/** The request as the client sent it at first; all other bytes stay the same. */
export function withoutInputResponses(message: InboundMessage): InboundRequest {
  const text = message.body.toString('utf8');
  const shortened = ADDED.reduce((json, name) => {
    const params = memberRange(json, 0, 'params');
    return params === undefined ? json : withoutMember(json, params.start, name);
  }, text);
  const read = readMessage(Buffer.from(shortened));
  if (read.kind !== 'request') throw new Error('A request without its input responses must remain a request.');
  return read;
}
