import { newId } from '../../core/ids.js';
import type { DomainError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { isRecord } from '../../core/is-record.js';
import { SIGN_IN } from './sign-in-tool.js';

/** MCP 2026-07-28, "Missing Required Client Capability". */
const MISSING_CAPABILITY = -32021;

/** JSON-RPC 2.0 §5.1 and MCP 2026-07-28, "Error codes". All other codes map to `SERVER_ERROR`. */
const RPC_CODES: Partial<Record<ErrorCode, number>> = {
  malformed_json: -32700,
  invalid_rpc_request: -32600,
  body_too_large: -32600,
  unknown_method: -32601,
  invalid_arguments: -32602,
  invalid_envelope: -32602,
  unknown_tool: -32602,
  upstream_timeout: -32603,
  upstream_protocol: -32603,
  tool_schema_invalid: -32603,
  internal: -32603,
  header_mismatch: -32020,
  missing_capability: MISSING_CAPABILITY,
};

/** MCP 2025-11-25, "URL Elicitation Required Error". */
export const URL_ELICITATION_REQUIRED = -32042;
/** For everything that JSON-RPC 2.0 and MCP have no code for. */
export const SERVER_ERROR = -32000;

/** The HTTP statuses of errors that MCP 2026-07-28 assigns one to, regardless of who reports them. */
const MODERN_STATUSES: ReadonlyMap<unknown, number> = new Map([
  [-32601, 404],
  [-32020, 400],
  [MISSING_CAPABILITY, 400],
  [-32022, 400],
]);

/** Errors that MCP clients read only from a successful HTTP response. */
const IN_BAND: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'unknown_method',
  'invalid_arguments',
  'unknown_tool',
  'upstream_timeout',
  'tool_schema_invalid',
]);

/** The HTTP status of a JSON-RPC error. In the modern era (MCP 2026-07-28), an unknown method has its own status. */
export function rpcStatus(error: DomainError, isModern: boolean, hasUrlElicitation: boolean): number {
  const { code, status } = error;
  if (hasUrlElicitation && elicitationsOf(error) !== undefined) return 200;
  const isInBand = IN_BAND.has(code) && !(isModern && code === 'unknown_method');
  return isInBand ? 200 : status;
}

/**
 * The HTTP status that the modern era assigns to this message; undefined for errors without one. An upstream of the
 * legacy era and a program report these errors without a status, or with another one.
 */
export function modernStatusOf({ error }: Readonly<Record<string, unknown>>): number | undefined {
  return isRecord(error) ? MODERN_STATUSES.get(error['code']) : 200;
}

/** The `error` member of a JSON-RPC answer. */
interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  readonly data: object;
}

/**
 * The JSON text of an error answer.
 * @param id the request's id as JSON text; null if it is not known
 * @param hasUrlElicitation true if the client asks people to open URLs
 */
export function rpcErrorText(
  error: DomainError,
  id: string | null,
  requestId: string,
  hasUrlElicitation = false,
): string {
  const body = rpcErrorBody(error, requestId, hasUrlElicitation);
  return `{"jsonrpc":"2.0","id":${id ?? 'null'},"error":${JSON.stringify(body)}}`;
}

/** The page that a person has to open before the request can succeed; undefined if there is none. */
export function signInPageOf({ code, data }: DomainError): string | undefined {
  const url = data['authorization_url'];
  return code === 'upstream_authorization_required' && typeof url === 'string' ? url : undefined;
}

/**
 * The JSON text of an answer that asks for input (MCP 2026-07-28, "Multi round-trip requests"): to open a page, then to
 * repeat the request.
 */
export function signInRequestText(error: DomainError, url: string, id: string, requestState: string): string {
  const params = { mode: 'url', url, message: error.message };
  const inputRequests = { [SIGN_IN]: { method: 'elicitation/create', params } };
  const result = { resultType: 'input_required', inputRequests, requestState };
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}

/** The JSON text of the same answer to a client of that era that does not ask people to open URLs. */
export function cannotSignInText(error: DomainError, id: string, requestId: string): string {
  const { message, data } = rpcErrorBody(error, requestId);
  return `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(missingUrlElicitation(message, data))}}`;
}

/** The error for a client of that era that would have to ask people to open URLs. */
export function missingUrlElicitation(message: string, data: object): RpcErrorBody {
  const required = { ...data, requiredCapabilities: { elicitation: { url: {} } } };
  return { code: MISSING_CAPABILITY, message, data: required };
}

/** The requests that can be answered by asking for input (MCP 2026-07-28). */
const CAN_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

export function canAsk(method: string): boolean {
  return CAN_ASK.has(method);
}

/**
 * The JSON text of the answer to a tool call that the model should know of: a failed tool, because clients pass only
 * results on to their model (SEP-1303).
 * @param id the request's id as JSON text
 */
export function toolErrorText(error: DomainError, id: string, requestId: string, isModern: boolean): string {
  const { code, errors = [] } = error;
  const result = {
    ...(isModern && { resultType: 'complete' }),
    isError: true,
    content: [{ type: 'text', text: error.detail ?? `${error.title}.` }],
    _meta: { 'mcp.service': { code, request_id: requestId, ...(errors.length > 0 && { errors }) } },
  };
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}

export function rpcErrorBody(error: DomainError, requestId: string, hasUrlElicitation = false): RpcErrorBody {
  const elicitations = hasUrlElicitation ? elicitationsOf(error) : undefined;
  return {
    code: elicitations === undefined ? (RPC_CODES[error.code] ?? SERVER_ERROR) : URL_ELICITATION_REQUIRED,
    message: error.detail ?? `${error.title}.`,
    data: {
      code: error.code,
      request_id: requestId,
      ...error.data,
      ...(elicitations !== undefined && { elicitations }),
      ...(error.errors !== undefined && error.errors.length > 0 && { errors: error.errors }),
    },
  };
}

function elicitationsOf(error: DomainError): object[] | undefined {
  const url = signInPageOf(error);
  return url === undefined ? undefined : [{ mode: 'url', elicitationId: newId(), url, message: error.message }];
}
