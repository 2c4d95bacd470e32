import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';

/** An answer of this service instead of the upstream. @param text the JSON-RPC message */
export function ownAnswer(text: string, status = 200): UpstreamAnswer {
  return { status, contentType: 'application/json', headers: {}, body: Buffer.from(text) };
}
