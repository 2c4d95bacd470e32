import type { IncomingHttpHeaders } from 'node:http';
import { withoutCredentials } from '../../common/credential-forms.js';
import { DomainError } from '../../common/domain-error.js';
import type { InboundMessage } from './inbound-message.js';
import { MODERN_VERSIONS } from './protocol-versions.js';

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** The member of `params` that `Mcp-Name` repeats, for each method that has one. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
/** RFC 2047's form, as MCP 2026-07-28 uses it for values that a header cannot carry. */
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
/** What goes upstream as it came, beside `mcp-param-*`; nothing else of the caller's headers does. */
const FORWARDED = ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'];

/** Does the request come from a client of the modern era? What it lacks of that era is for the upstream to say. */
export function isModernRequest(headers: IncomingHttpHeaders): boolean {
  return MODERN_VERSIONS.includes(String(headers['mcp-protocol-version']));
}

/** The MCP revision that a request of the modern era (2026-07-28) names in itself; undefined for the legacy era. */
export function modernVersionOf({ params }: InboundMessage): string | undefined {
  const meta = params['_meta'];
  if (typeof meta !== 'object' || meta === null || !(VERSION_KEY in meta)) return undefined;
  const version = (meta as Record<string, unknown>)[VERSION_KEY];
  return typeof version === 'string' ? version : undefined;
}

/**
 * Holds the headers that repeat the body against it (MCP 2026-07-28, transports): who routes or filters by them must not be
 * told something else than who reads the body.
 * @throws DomainError `header_mismatch`
 */
export function checkHeaders(headers: IncomingHttpHeaders, message: InboundMessage): void {
  const { method = '', params } = message;
  const namedBy = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  refuseOther(headers['mcp-method'], method, 'Mcp-Method');
  refuseOther(headers['mcp-name'], namedBy === undefined ? undefined : params[namedBy], 'Mcp-Name');
  const version = modernVersionOf(message);
  if (version !== undefined) refuseOther(headers['mcp-protocol-version'], version, 'MCP-Protocol-Version');
}

/**
 * A subscription is answered by a stream without end, which cannot be gathered for a caller that takes no stream.
 * @throws DomainError `invalid_rpc_request`
 */
export function requireTakesStream({ accept }: IncomingHttpHeaders, { method }: InboundMessage): void {
  if (method !== 'subscriptions/listen' || accept?.includes('text/event-stream') === true) return;
  throw new DomainError('invalid_rpc_request', 'A subscription needs `Accept: text/event-stream`.');
}

/** The caller's headers that belong to MCP. Credentials, wherever they are, cookies and everything else stay here. */
export function forwardedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const forwarded: Record<string, string> = {};
  for (const name of FORWARDED) {
    const value = headers[name];
    if (typeof value === 'string') forwarded[name] = withoutCredentials(value);
  }
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (name.startsWith('mcp-param-') && typeof value === 'string') {
      forwarded[withoutCredentials(name)] = withoutCredentials(value);
    }
  }
  return forwarded;
}

function refuseOther(header: string | string[] | undefined, expected: unknown, name: string): void {
  if (header === undefined) return;
  if (typeof header === 'string' && decode(header) === expected) return;
  throw new DomainError('header_mismatch', `The header ${name} names something else than the body.`);
}

function decode(value: string): string {
  const encoded = ENCODED.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

/** The caller's trace context (W3C Trace Context), unchecked. */
export function traceContextOf({ traceparent, tracestate }: IncomingHttpHeaders): {
  traceparent?: string;
  tracestate?: string;
} {
  return {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  };
}
