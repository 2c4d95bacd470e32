import {
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  UnsupportedProtocolVersionError,
} from '@modelcontextprotocol/client';
import { DomainError } from '../../core/domain-error.js';
import { isObject, parseRecord } from '../../core/is-record.js';
import { portOf, AddressRefusedError } from '../../platform/net/address-policy.js';

/**
 * The kinds of failures that callers distinguish: `unreachable` no connection, or the upstream reports that it cannot
 * serve (429, 5xx) · `unauthorized` it does not accept the stored credential · `timeout` no answer in time · `protocol`
 * its answer violates MCP or exceeds the limits · `rpc` it answered with a JSON-RPC error · `refused_address` the
 * address policy refuses it · `cancelled` the service ended the request · `session_lost` it no longer knows the session
 * and did not process the request · `busy` no socket, process or memory is free for it · `authorization_required` a
 * person has to authorize the account at it first.
 */
export type UpstreamErrorKind =
  | 'unreachable'
  | 'unauthorized'
  | 'timeout'
  | 'protocol'
  | 'rpc'
  | 'refused_address'
  | 'cancelled'
  | 'session_lost'
  | 'busy'
  | 'authorization_required';

/** A JSON-RPC error as the upstream sent it. It can quote arguments: relay it to the caller, but never log it. */
interface UpstreamRpcError {
  code: number;
  message: string;
  data?: unknown;
}

/**
 * A failed exchange with an upstream. The message is a sentence for the caller without any header, body or credential.
 * There is deliberately no `cause`, because the underlying errors quote what the upstream sent.
 */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  /** Present exactly when `kind` is `rpc`. */
  readonly rpc?: UpstreamRpcError;
  /** The HTTP status, if one decided the kind. */
  readonly status?: number;
  /** The page on which a person authorizes the account; present exactly when `kind` is `authorization_required`. */
  readonly authorizationUrl?: string;

  constructor(
    readonly kind: UpstreamErrorKind,
    message: string,
    details: { rpc?: UpstreamRpcError; status?: number; authorizationUrl?: string | undefined } = {},
  ) {
    super(message);
    if (details.rpc !== undefined) this.rpc = details.rpc;
    if (details.status !== undefined) this.status = details.status;
    if (details.authorizationUrl !== undefined) this.authorizationUrl = details.authorizationUrl;
  }
}

/**
 * An upstream violated MCP or exceeded the limits of this service. The message completes the sentence "The upstream at
 * <address> …"; `toUpstreamError` turns it into one of kind `protocol`.
 */
export class UpstreamMisbehaviour extends Error {
  override readonly name = 'UpstreamMisbehaviour';
}

type Finding = [kind: UpstreamErrorKind, predicate: string, details?: { rpc?: UpstreamRpcError; status?: number }];

/** Codes of Node's sockets and resolver and of undici, each with the end of "The upstream at <address> …". */
const SOCKET_FINDINGS: Readonly<Record<string, Finding>> = {
  ECONNREFUSED: ['unreachable', 'refused the connection'],
  ECONNRESET: ['unreachable', 'closed the connection'],
  EPIPE: ['unreachable', 'closed the connection'],
  UND_ERR_SOCKET: ['unreachable', 'closed the connection'],
  ENOTFOUND: ['unreachable', 'cannot be found: its name does not resolve'],
  EAI_AGAIN: ['unreachable', 'cannot be found: its name does not resolve at the moment'],
  EHOSTUNREACH: ['unreachable', 'cannot be reached'],
  ENETUNREACH: ['unreachable', 'cannot be reached'],
  ETIMEDOUT: ['unreachable', 'did not accept the connection in time'],
  UND_ERR_CONNECT_TIMEOUT: ['unreachable', 'did not accept the connection in time'],
  UND_ERR_HEADERS_TIMEOUT: ['timeout', 'did not answer in time'],
  UND_ERR_BODY_TIMEOUT: ['timeout', 'stopped sending in the middle of its answer'],
  UND_ERR_HEADERS_OVERFLOW: ['protocol', 'answered with headers that are too large'],
  UND_ERR_ABORTED: ['cancelled', 'did not answer before the request was cancelled'],
};

const SDK_FINDINGS: Partial<Record<SdkErrorCode, Finding>> = {
  [SdkErrorCode.RequestTimeout]: ['timeout', 'did not answer in time'],
  [SdkErrorCode.ConnectionClosed]: ['cancelled', 'did not answer before the request was cancelled'],
  [SdkErrorCode.NotConnected]: ['cancelled', 'did not answer before the request was cancelled'],
  [SdkErrorCode.InvalidResult]: ['protocol', 'answered with a result that does not fit the request'],
  [SdkErrorCode.UnsupportedResultType]: ['protocol', 'requested further input, which this service cannot provide'],
};

/** `host:port` of a target, as messages name it. */
export function addressLabel(url: string): string {
  const parsed = new URL(url);
  return `${parsed.hostname}:${portOf(parsed)}`;
}

/**
 * Converts any error of the SDK, undici or this service's checks to an `UpstreamError`. Never quotes text of the
 * upstream.
 * @param hasCredential true if a credential was sent to the upstream
 */
export function toUpstreamError(error: unknown, address: string, hasCredential = true): UpstreamError {
  if (error instanceof UpstreamError) return error;
  const chain = [...causesOf(error)];
  const refused = chain.find((cause) => cause instanceof AddressRefusedError);
  if (refused !== undefined) return new UpstreamError('refused_address', refused.message);

  const own = chain.find((cause) => cause instanceof DomainError);
  if (own !== undefined) return fromDomainError(own);

  const finding = chain.map((cause) => findingOf(cause, hasCredential)).find((found) => found !== undefined);
  const [kind, predicate, details] = finding ?? ['protocol', 'failed unexpectedly during the MCP exchange'];
  return new UpstreamError(kind, `The upstream at ${address} ${predicate}.`, details);
}

/** Converts an error of the account at the upstream (`AccountAccess`), or of the room for its answer (`AnswerRoom`). */
function fromDomainError({ code, message, data }: DomainError): UpstreamError {
  if (code === 'upstream_unauthorized') return new UpstreamError('unauthorized', message, { status: 401 });
  if (code === 'answer_memory_exhausted') return new UpstreamError('busy', message);
  if (code === 'request_abandoned') return new UpstreamError('cancelled', message);
  if (code !== 'upstream_authorization_required') return new UpstreamError('unreachable', message);
  const url = data['authorization_url'];
  return new UpstreamError('authorization_required', message, {
    authorizationUrl: typeof url === 'string' ? url : undefined,
  });
}

/** Converts an HTTP error answer to an `UpstreamError`. @param body the part of the answer that was read */
export function httpError(status: number, body: string, address: string, hasCredential: boolean): UpstreamError {
  const [kind, predicate, details] = httpFinding(status, body, hasCredential);
  return new UpstreamError(kind, `The upstream at ${address} ${predicate}.`, details);
}

function findingOf(error: unknown, hasCredential: boolean): Finding | undefined {
  if (error instanceof UpstreamMisbehaviour) return ['protocol', error.message];
  if (error instanceof UnsupportedProtocolVersionError) {
    return ['protocol', 'has no protocol version in common with this service'];
  }
  if (error instanceof ProtocolError) return rpcFinding({ code: error.code, message: error.message, data: error.data });
  if (error instanceof SdkHttpError) return httpFinding(error.status, error.data['text'], hasCredential);
  if (error instanceof SdkError) return sdkFinding(error);
  // Compared by name and code, not by class: these errors come from other libraries, and in tests from another realm.
  if (!isObject(error)) return undefined;
  if (error['name'] === 'SyntaxError') return ['protocol', 'answered with malformed JSON'];
  if (error['name'] === 'ZodError') {
    return ['protocol', 'does not speak MCP: it answered with JSON that is not JSON-RPC 2.0'];
  }
  if (error['name'] === 'AbortError') return ['cancelled', 'did not answer before the request was cancelled'];
  return typeof error['code'] === 'string' ? socketFinding(error['code']) : undefined;
}

function sdkFinding(error: SdkError): Finding | undefined {
  if (error.code !== SdkErrorCode.ClientHttpUnexpectedContent) return SDK_FINDINGS[error.code];
  const { data } = error;
  const contentType = typeof data === 'object' && data !== null && 'contentType' in data ? data.contentType : undefined;
  return ['protocol', `does not speak MCP: it answered 200 ${mediaType(contentType)}`];
}

function socketFinding(code: string): Finding | undefined {
  // OpenSSL and Node use many names for faults of certificates and handshakes.
  if (/CERT|^ERR_(SSL|TLS)|^EPROTO$|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return ['unreachable', `failed the TLS handshake (${code})`];
  }
  if (code.startsWith('HPE_')) return ['protocol', 'does not speak HTTP/1.1'];
  return SOCKET_FINDINGS[code];
}

function httpFinding(status: number, body: unknown, hasCredential: boolean): Finding {
  const details = { status };
  if (status === 401 || status === 403 || status === 407) {
    const reason = hasCredential
      ? 'the stored credential was not accepted'
      : 'it refuses the request, and no credential is stored';
    return ['unauthorized', `answered ${status}: ${reason}`, details];
  }
  if (status === 429) return ['unreachable', 'answered 429: it limits the rate of requests', details];
  if (status >= 500) return ['unreachable', `answered ${status}`, details];
  if (status >= 300 && status < 400) {
    return ['protocol', `answered ${status}: its redirect is not followed, use the final URL`, details];
  }
  const rpc = rpcErrorIn(body);
  if (rpc !== undefined) return rpcFinding(rpc, status);
  if (status === 404 || status === 405 || status === 410) {
    return ['protocol', `answered ${status}: there is no MCP endpoint at this path`, details];
  }
  return ['protocol', `answered ${status} to an MCP request`, details];
}

function rpcFinding(rpc: UpstreamRpcError, status?: number): Finding {
  const { code, message, data } = rpc;
  return [
    'rpc',
    `answered with JSON-RPC error ${code}`,
    { rpc: { code, message, ...(data !== undefined && { data }) }, ...(status !== undefined && { status }) },
  ];
}

/** The JSON-RPC error in the body of an HTTP error answer. */
function rpcErrorIn(body: unknown): UpstreamRpcError | undefined {
  if (typeof body !== 'string') return undefined;
  const parsed = parseRecord(body);
  if (parsed?.['jsonrpc'] !== '2.0' || !isObject(parsed['error'])) return undefined;
  const { code, message, data } = parsed['error'];
  if (typeof code !== 'number' || typeof message !== 'string') return undefined;
  return { code, message, data };
}

/** Quotes a content type only if it has the form of a media type. */
function mediaType(contentType: unknown): string {
  const essence = typeof contentType === 'string' ? contentType.split(';', 1)[0]?.trim() : undefined;
  return essence !== undefined && /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(essence)
    ? essence
    : 'without a usable content type';
}

/** The error, its causes, and the errors of an AggregateError (several addresses tried), outermost first. */
function* causesOf(error: unknown): Generator {
  const seen = new Set<unknown>();
  const waiting: unknown[] = [error];
  while (waiting.length > 0) {
    const next = waiting.shift();
    if (seen.has(next)) continue;
    seen.add(next);
    yield next;
    if (!isObject(next)) continue;
    waiting.push(next['cause']);
    if (Array.isArray(next['errors'])) waiting.push(...next['errors']);
  }
}
