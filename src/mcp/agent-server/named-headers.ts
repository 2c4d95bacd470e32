import type { IncomingHttpHeaders } from 'node:http';
import { forwardedHeaders } from '../protocol/mcp-headers.js';

/** What a header carries as it is (MCP 2026-07-28, transports): visible ASCII with spaces inside, and nothing that looks encoded. */
const PLAIN = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The MCP headers of a request that goes on under another name; one that `Mcp-Name` is missing from stays without. */
export function namedHeaders(headers: IncomingHttpHeaders, name: string): Record<string, string> {
  const forwarded = forwardedHeaders(headers);
  if (!('mcp-name' in forwarded)) return forwarded;
  const encoded = PLAIN.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`;
  return { ...forwarded, 'mcp-name': encoded };
}
