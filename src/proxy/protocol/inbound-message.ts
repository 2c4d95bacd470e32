import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { holdsCredential, withoutCredentials } from '../../core/credential-forms.js';
import { DomainError } from '../../core/domain-error.js';
import { isRecord } from '../../core/is-record.js';
import { inspectJson } from '../../core/json/inspect-json.js';
import { memberRange, type TextRange, withoutMember } from '../../core/json/json-member.js';
import type { IncomingHttpHeaders } from 'node:http';

/** The revisions of MCP that have sessions. */
export const LEGACY_VERSIONS: ReadonlySet<string> = new Set(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']);
export const LATEST_LEGACY_VERSION = '2025-11-25';

/** The revisions without sessions; their requests name the revision in a header and in the body. */
export const MODERN_VERSIONS: readonly string[] = ['2026-07-28'];

/** A range of a body, in bytes. */
interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A request, which is answered with the same id. */
export interface InboundRequest {
  readonly kind: 'request';
  /** The id as written in the body, JSON text: `7` or `"a"`. */
  readonly id: string;
  /** The position of the id in the body, in bytes. */
  readonly idStart: number;
  readonly idEnd: number;
  /** The position of `params.name` in the body, in bytes; undefined if there is none. */
  readonly nameRange: ByteRange | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

/** A message without an answer: a notification, or the caller's answer to a request of the upstream. */
export interface InboundOneWay {
  readonly kind: 'notification' | 'answer';
  /** Set for a notification. */
  readonly method?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly body: Buffer;
}

export type InboundMessage = InboundRequest | InboundOneWay;

const MAX_ID_LENGTH = 1024;
const MAX_METHOD_LENGTH = 256;
const NOTIFICATION = 'notifications/';

/**
 * Reads the message of a POST body (MCP 2025-11-25, streamable HTTP; JSON-RPC 2.0 §4). The body is forwarded as it is,
 * so everything that another parser could read differently is rejected.
 * @throws DomainError `malformed_json` or `invalid_rpc_request`
 */
export function readMessage(body: unknown): InboundMessage {
  if (!Buffer.isBuffer(body) || body.length === 0) throw new DomainError('malformed_json', 'The body is empty.');
  if (!isUtf8(body)) throw new DomainError('malformed_json', 'The body is not valid UTF-8.');
  const text = body.toString('utf8');
  const value = parse(text);
  if (Array.isArray(value)) throw invalid('MCP does not support batches. Send one message per request.');
  if (!isRecord(value)) throw invalid('The body must be a JSON object.');
  const ranges = inspectJson(text);
  if (value['jsonrpc'] !== '2.0') throw invalid('`jsonrpc` must be "2.0".');

  const { method } = value;
  const params = paramsOf(value);
  if (method === undefined) return { kind: 'answer', params: {}, body: checkedAnswer(value, body) };
  if (typeof method !== 'string' || method === '' || method.length > MAX_METHOD_LENGTH) {
    throw invalid(`\`method\` must be a string of 1 to ${MAX_METHOD_LENGTH} characters.`);
  }
  refuseCredential(method);
  // Names are recorded and used in metrics, so they must not contain a credential. Arguments belong to the caller and
  // are not checked.
  for (const name of [params['name'], params['uri']]) if (typeof name === 'string') refuseCredential(name);
  if ('result' in value || 'error' in value) throw invalid('A message is either a request or an answer.');
  if (!('id' in value)) {
    if (!method.startsWith(NOTIFICATION)) throw invalid('A request needs an `id` that is a string or a number.');
    return { kind: 'notification', method, params, body };
  }
  if (method.startsWith(NOTIFICATION)) throw invalid('A notification must not have an `id`.');
  checkId(value['id']);
  if (ranges.id === undefined) throw invalid('`id` must be a string or a number.');
  const id = text.slice(ranges.id.start, ranges.id.end);
  const { start: idStart, end: idEnd } = inBytes(ranges.id, text, body);
  const nameRange = ranges.name && inBytes(ranges.name, text, body);
  return { kind: 'request', id, idStart, idEnd, nameRange, method, params, body };
}

/** The same for a body that is known to be a request. */
export function readRequest(body: Buffer): InboundRequest {
  const message = readMessage(body);
  if (message.kind !== 'request') throw new TypeError('The body is not a request.');
  return message;
}

/**
 * The request without a member. All other bytes stay the same.
 * @param path of the object that has the member
 */
export function withoutMemberOf({ body }: InboundRequest, path: readonly string[], name: string): InboundRequest {
  const text = body.toString('utf8');
  const start = path.reduce((at, key) => memberRange(text, at, key)?.start ?? text.length, 0);
  return readRequest(Buffer.from(withoutMember(text, start, name)));
}

function inBytes(range: TextRange, text: string, body: Buffer): ByteRange {
  const isAscii = text.length === body.length;
  if (isAscii) return range;
  const start = Buffer.byteLength(text.slice(0, range.start));
  return { start, end: start + Buffer.byteLength(text.slice(range.start, range.end)) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new DomainError('malformed_json', 'The body is not valid JSON.');
  }
}

function paramsOf({ params }: Record<string, unknown>): Record<string, unknown> {
  if (params === undefined) return {};
  if (!isRecord(params)) throw invalid('`params` must be an object.');
  return params;
}

function checkId(id: unknown): void {
  const isId = typeof id === 'string' ? id.length <= MAX_ID_LENGTH : typeof id === 'number' && Number.isFinite(id);
  if (!isId) throw invalid(`\`id\` must be a string of at most ${MAX_ID_LENGTH} characters or a number.`);
  if (typeof id === 'string') refuseCredential(id);
}

function refuseCredential(text: string): void {
  if (holdsCredential(text)) throw invalid('Send an API key only in the `Authorization` header.');
}

function checkedAnswer(value: Record<string, unknown>, body: Buffer): Buffer {
  if ('result' in value === 'error' in value)
    throw invalid('A message needs a `method`, or one of `result` and `error`.');
  checkId(value['id']);
  return body;
}

function invalid(detail: string): DomainError {
  return new DomainError('invalid_rpc_request', detail);
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
/** The member of `params` that `Mcp-Name` repeats, by method (MCP 2026-07-28, transports and tasks). */
export const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
]);
/** The form of RFC 2047 that MCP 2026-07-28 uses for values that a header cannot contain. */
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/;
/** The beginning of every header that repeats an argument of a tool, in lower case. */
export const ARGUMENT_HEADER = 'mcp-param-';
/** The caller's headers that are forwarded unchanged, in addition to those that repeat arguments. */
const FORWARDED = ['mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'];

/** True if the request comes from a client of the modern era. The upstream checks whether it is complete. */
function isModernRequest(headers: IncomingHttpHeaders): boolean {
  return MODERN_VERSIONS.includes(String(headers['mcp-protocol-version']));
}

/** The MCP revision in the body of a request of the modern era (2026-07-28); undefined if it names none. */
export function modernVersionOf({ params }: InboundMessage): string | undefined {
  const meta = params['_meta'];
  const version = isRecord(meta) ? meta[VERSION_KEY] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** What the message declares of its client: `initialize`, or in the modern era each request. It can be any value. */
export function clientCapabilitiesOf({ params }: Pick<InboundMessage, 'params'>): unknown {
  const meta = params['_meta'];
  return isRecord(meta) && CLIENT_CAPABILITIES in meta ? meta[CLIENT_CAPABILITIES] : params['capabilities'];
}

/** True if the client speaks the modern era in this message. */
export function isModernMessage(headers: IncomingHttpHeaders, message: InboundMessage): boolean {
  const meta = message.params['_meta'];
  // Only the modern era has this member, whatever its value is.
  return isModernRequest(headers) || (isRecord(meta) && VERSION_KEY in meta);
}

/**
 * Compares the headers that repeat values of the body with the body (MCP 2026-07-28, transports). Intermediaries that
 * route or filter by headers must see what the receiver of the body sees.
 * @throws DomainError `header_mismatch`
 */
export function checkHeaders(headers: IncomingHttpHeaders, message: InboundMessage): void {
  const { method = '', params } = message;
  const namedBy = NAMED_BY.get(method);
  requireEqual(headers['mcp-method'], method, 'Mcp-Method');
  requireEqual(headers['mcp-name'], namedBy === undefined ? undefined : params[namedBy], 'Mcp-Name');
  const version = modernVersionOf(message);
  if (version !== undefined) requireEqual(headers['mcp-protocol-version'], version, 'MCP-Protocol-Version');
}

/** True for the request whose answer is an endless stream of notifications (MCP 2026-07-28, "Subscriptions"). */
export function isSubscription({ method }: InboundMessage): boolean {
  return method === 'subscriptions/listen';
}

/**
 * Requires that a subscription accepts a stream: its endless answer cannot be collected into one JSON body.
 * @throws DomainError `invalid_rpc_request`
 */
export function requireTakesStream(headers: IncomingHttpHeaders, message: InboundMessage): void {
  if (!isSubscription(message) || takesStream(headers)) return;
  throw new DomainError('invalid_rpc_request', 'A subscription needs `Accept: text/event-stream`.');
}

/** True if the caller accepts an event stream as the answer. */
export function takesStream({ accept }: IncomingHttpHeaders): boolean {
  return accept?.includes('text/event-stream') === true;
}

/**
 * Ends the exchange of a request that its client has cancelled, which gets no answer (MCP 2025-11-25, "Cancellation"):
 * with a stream without messages, or for a client that takes none with the status of messages without an answer.
 */
export async function sendNoAnswer({ headers }: FastifyRequest, reply: FastifyReply): Promise<void> {
  await (takesStream(headers) ? reply.status(200).type('text/event-stream').send('') : reply.status(202).send());
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
    if (name.startsWith(ARGUMENT_HEADER) && typeof value === 'string') {
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
