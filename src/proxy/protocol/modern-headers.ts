import type { IncomingHttpHeaders } from 'node:http';
import { ARGUMENT_HEADER, forwardedHeaders } from './inbound-message.js';

/**
 * Values that need no encoding in a header (MCP 2026-07-28, transports): visible ASCII with inner spaces that does not
 * look encoded.
 */
const PLAIN = /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * The MCP headers of a request that is forwarded under another name. `Mcp-Name` is replaced only if the caller sent it.
 */
export function namedHeaders(headers: IncomingHttpHeaders, name: string): Record<string, string> {
  const forwarded = forwardedHeaders(headers);
  return 'mcp-name' in forwarded ? { ...forwarded, 'mcp-name': encoded(name) } : forwarded;
}

/** The headers with these ones that repeat arguments, and no others that do. @param repeated not encoded yet */
export function withArguments(
  headers: Readonly<Record<string, string>>,
  repeated: Readonly<Record<string, string>>,
): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !name.startsWith(ARGUMENT_HEADER));
  const added = Object.entries(repeated).map(([name, value]): [string, string] => [name, encoded(value)]);
  return Object.fromEntries([...kept, ...added]);
}

function encoded(text: string): string {
  return PLAIN.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}
