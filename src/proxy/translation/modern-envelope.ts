import type { IncomingHttpHeaders } from 'node:http';
import { DomainError } from '../../core/domain-error.js';
import { isRecord } from '../../core/is-record.js';
import {
  CLIENT_CAPABILITIES,
  type InboundRequest,
  modernVersionOf,
  NAMED_BY,
  readRequest,
  MODERN_VERSIONS,
} from '../protocol/inbound-message.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { memberRange } from '../../core/json/json-member.js';

const PREFIX = 'io.modelcontextprotocol/';
/** Client capabilities that an upstream of the legacy era uses by sending requests to the client. */
export const ANSWERING = ['sampling', 'elicitation', 'roots'];

/**
 * Checks the form of a modern request that is not sent to a modern upstream (MCP 2026-07-28, "Streamable HTTP" and
 * "`_meta`"). `checkHeaders` has already compared the headers with the body.
 * @throws DomainError `header_mismatch`, `invalid_envelope`
 */
export function requireEnvelope(headers: IncomingHttpHeaders, message: InboundRequest): void {
  if (!hasMembers(message)) {
    const members = `${PREFIX}protocolVersion and ${CLIENT_CAPABILITIES}`;
    throw new DomainError('invalid_envelope', `\`params._meta\` must contain ${members}.`);
  }
  if (!hasHeaders(headers, message)) {
    throw new DomainError('header_mismatch', 'MCP-Protocol-Version, Mcp-Method or Mcp-Name is missing.');
  }
}

/** True if this is a complete request of a revision that this service answers itself. */
export function isAnswerable(headers: IncomingHttpHeaders, message: InboundRequest): boolean {
  return hasMembers(message) && hasHeaders(headers, message) && unsupportedVersion(message) === undefined;
}

function hasMembers(message: InboundRequest): boolean {
  return modernVersionOf(message) !== undefined && capabilitiesInEnvelope(message) !== undefined;
}

function hasHeaders(headers: IncomingHttpHeaders, { method }: InboundRequest): boolean {
  return (
    headers['mcp-protocol-version'] !== undefined &&
    headers['mcp-method'] !== undefined &&
    (headers['mcp-name'] !== undefined || !NAMED_BY.has(method))
  );
}

/**
 * True if the client declares capabilities that this caller can use only in a session of the legacy era. Upstreams do
 * not ask callers that share a session.
 */
export function needsSession(message: InboundRequest, { principal, connection }: ProxyCaller): boolean {
  const declared = capabilitiesInEnvelope(message) ?? {};
  const isShared = principal === undefined || connection.sharedState;
  return ['tasks', ...(isShared ? ANSWERING : [])].some((capability) => Object.hasOwn(declared, capability));
}

/** The revision that the request names, if this service does not translate it. */
export function unsupportedVersion(message: InboundRequest): string | undefined {
  const version = modernVersionOf(message);
  return version === undefined || MODERN_VERSIONS.includes(version) ? undefined : version;
}

/**
 * Returns the request as a client of the legacy era sends it: without the envelope, and otherwise byte for byte the
 * same.
 */
export function withoutEnvelope(message: InboundRequest): InboundRequest {
  const text = message.body.toString('utf8');
  const params = memberRange(text, 0, 'params');
  const meta = params && memberRange(text, params.start, '_meta');
  if (meta === undefined) return message;
  const others = Object.entries(message.params['_meta'] as object).filter(([name]) => !name.startsWith(PREFIX));
  const body = text.slice(0, meta.start) + JSON.stringify(Object.fromEntries(others)) + text.slice(meta.end);
  return readRequest(Buffer.from(body));
}

function capabilitiesInEnvelope({ params }: InboundRequest): object | undefined {
  const meta = params['_meta'];
  const capabilities = isRecord(meta) ? meta[CLIENT_CAPABILITIES] : undefined;
  return isRecord(capabilities) ? capabilities : undefined;
}
