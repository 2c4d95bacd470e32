import type { IncomingHttpHeaders } from 'node:http';
import { withoutCredentials } from '../../core/credential-forms.js';
import { DomainError } from '../../core/domain-error.js';
import type { InboundMessage } from './inbound-message.js';
import { MODERN_VERSIONS } from './protocol-versions.js';

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** The member of `params` that `Mcp-Name` repeats, by method. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};
/** The form of RFC 2047 that MCP 2026-07-28 uses for values that a header cannot contain. */
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
/** The caller's headers that are forwarded unchanged, in addition to `mcp-param-*`. */
const FORWARDED = ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'];

/** Does the request come from a client of the modern era? The upstream checks whether it is complete. */
export function isModernRequest(headers: IncomingHttpHeaders): boolean {
  return MODERN_VERSIONS.includes(String(headers['mcp-protocol-version']));
}

/** The MCP revision in the body of a request of the modern era (2026-07-28); undefined for the legacy era. */
export function modernVersionOf({ params }: InboundMessage): string | undefined {
  const meta = params['_meta'];
  if (typeof meta !== 'object' || meta === null || !(VERSION_KEY in meta)) return undefined;
  const version = (meta as Record<string, unknown>)[VERSION_KEY];
  return typeof version === 'string' ? version : undefined;
}

/** Does the client speak the modern era in this message? */
export function isModernMessage(headers: IncomingHttpHeaders, message: InboundMessage): boolean {
  return isModernRequest(headers) || modernVersionOf(message) !== undefined;
}

/**
 * Compares the headers that repeat values of the body with the body (MCP 2026-07-28, transports). Intermediaries that route or
 * filter by headers must see what the receiver of the body sees.
 * @throws DomainError `header_mismatch`
 */
export function checkHeaders(headers: IncomingHttpHeaders, message: InboundMessage): void {
  const { method = '', params } = message;
  const namedBy = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  requireEqual(headers['mcp-method'], method, 'Mcp-Method');
  requireEqual(headers['mcp-name'], namedBy === undefined ? undefined : params[namedBy], 'Mcp-Name');
  const version = modernVersionOf(message);
  if (version !== undefined) requireEqual(headers['mcp-protocol-version'], version, 'MCP-Protocol-Version');
}

/**
 * Requires that a subscription accepts a stream: its endless answer cannot be collected into one JSON body.
 * @throws DomainError `invalid_rpc_request`
 */
export function requireTakesStream({ accept }: IncomingHttpHeaders, { method }: InboundMessage): void {
  if (method !== 'subscriptions/listen' || accept?.includes('text/event-stream') === true) return;
  throw new DomainError('invalid_rpc_request', 'A subscription needs `Accept: text/event-stream`.');
}

/** The caller's MCP headers, without any credentials. All other headers, such as cookies, are not forwarded. */
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

function requireEqual(header: string | string[] | undefined, expected: unknown, name: string): void {
  if (header === undefined) return;
  if (typeof header === 'string' && decode(header) === expected) return;
  throw new DomainError('header_mismatch', `The ${name} header does not match the body.`);
}

function decode(value: string): string {
  const encoded = ENCODED.exec(value)?.[1];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

/** The caller's trace context (W3C Trace Context), not validated. */
export function traceContextOf({ traceparent, tracestate }: IncomingHttpHeaders): {
  traceparent?: string;
  tracestate?: string;
} {
  return {
    ...(typeof traceparent === 'string' && { traceparent }),
    ...(typeof tracestate === 'string' && { tracestate }),
  };
}
