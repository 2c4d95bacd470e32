import { ERROR_CODES, type ErrorCode } from '../../src/core/error-codes.js';
import type { Step } from './step.js';

/** What the service answered. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** Whether the fuzzer left before the end. */
  readonly isCut: boolean;
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const FULL_KEY = /sbx_[0-9A-Za-z]{49}/;
const PROBLEM = 'application/problem+json; charset=utf-8';
/** The code of each stable word is documented with it; these are JSON-RPC's and MCP's own. */
const RPC_CODES: ReadonlySet<number> = new Set([
  -32700, -32600, -32601, -32602, -32603, -32000, -32001, -32002, -32003, -32004, -32020, -32021, -32022, -32042,
]);
/** Faults of an upstream or of what the fuzzer made of it, which the documentation answers with these. */
const UPSTREAM_FAULTS: ReadonlySet<string> = new Set<ErrorCode>([
  'upstream_unreachable',
  'upstream_unauthorized',
  'upstream_busy',
  'connection_unavailable',
  'upstream_timeout',
  'upstream_protocol',
]);

/** What is wrong with the answer; undefined when nothing is. */
export function faultOf(
  step: Step,
  sent: { path: string; headers: Readonly<Record<string, string>> },
  answer: Answer,
  secret: string,
): string | undefined {
  const { status, headers, text } = answer;
  if (text.includes(secret)) return 'The answer holds a stored secret.';
  if (FULL_KEY.test(text) && !mayShowKey(step)) return 'The answer holds an API key.';
  const requestId = headers['x-request-id'];
  if (typeof requestId !== 'string' || !REQUEST_ID.test(requestId))
    return `x-request-id is ${JSON.stringify(requestId)}.`;
  for (const value of Object.values(headers)) {
    if (String(value).includes(secret) || (FULL_KEY.test(String(value)) && value !== requestId))
      return 'A header holds a credential.';
  }
  if (FULL_KEY.test(requestId)) return 'x-request-id holds an API key.';
  const wanted = sent.headers['x-request-id'];
  if (wanted !== undefined && REQUEST_ID.test(wanted) && !FULL_KEY.test(wanted) && wanted !== requestId)
    return 'x-request-id is not the one that was sent.';
  if (answer.isCut) return undefined;
  const type = String(headers['content-type'] ?? '');
  if (step.method === 'HEAD') return text === '' ? undefined : 'The answer to HEAD has a body.';
  if (step.isRpc) return rpcFault(status, type, text) ?? refusedServerError(step, status, codeOf(text));
  // A part that answers too late on a busy machine is away; readiness names the parts in a document of its own.
  if (step.label.includes('health') && status === 503) return isJson(text) ? undefined : 'The answer is not JSON.';
  if (status >= 400)
    return (
      (step.path.includes('/v1/') && type !== PROBLEM
        ? openAiFault(status, type, text)
        : problemFault(status, type, text, requestId)) ?? refusedServerError(step, status, codeOf(text))
    );
  if (type.startsWith('application/jsonl')) return isJsonLines(text) ? undefined : 'The answer is not JSON lines.';
  return type.startsWith('application/json') && !isJson(text) ? 'The answer is not JSON.' : undefined;
}

/** Every line ends; without a record, there is none. */
function isJsonLines(text: string): boolean {
  return text === '' || (text.endsWith('\n') && text.slice(0, -1).split('\n').every(isJson));
}

/** The stable word of an error, whichever form it has. */
export function codeOf(text: string): string | undefined {
  return /"code":"([a-z_]+)"/.exec(text)?.[1];
}

/** Only 503, and only where an upstream is at fault or the answers in flight hold all the memory that they may. */
function refusedServerError(step: Step, status: number, code: string | undefined): string | undefined {
  if (status < 500) return undefined;
  if (status === 503 && code === 'answer_memory_exhausted') return undefined;
  // An agent that is inactive takes no messages.
  if (status === 503 && code === 'connection_unavailable' && /\/(?:messages|responses)$/.test(step.label))
    return undefined;
  const leadsUpstream = step.isRpc && !step.label.endsWith('mcp/self');
  if (leadsUpstream && code !== undefined && UPSTREAM_FAULTS.has(code)) return undefined;
  return `${status} ${code} is not allowed here.`;
}

function problemFault(status: number, type: string, text: string, requestId: string): string | undefined {
  if (type !== PROBLEM) return `The error is ${type || 'without a content type'}.`;
  const problem = parsed(text);
  if (problem === undefined) return 'The problem document is not JSON.';
  const { code, title, detail, request_id, errors } = problem;
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code))
    return `The code ${JSON.stringify(code)} is not known.`;
  if (ERROR_CODES[code as ErrorCode][0] !== status || problem['status'] !== status)
    return `The status ${status} is not that of ${code}.`;
  if (problem['type'] !== `urn:signalbox:error:${code}` || typeof title !== 'string')
    return 'The type or the title is wrong.';
  if (typeof detail !== 'string' || detail === '') return 'There is no detail.';
  if (request_id !== requestId) return 'request_id is not x-request-id.';
  return errors === undefined || (Array.isArray(errors) && errors.every(isFieldFault))
    ? undefined
    : 'The list of errors is malformed.';
}

/** Errors about responses have the form of OpenAI's. */
function openAiFault(status: number, type: string, text: string): string | undefined {
  if (!type.startsWith('application/json')) return `The error is ${type || 'without a content type'}.`;
  const { code, message, param } = (parsed(text)?.['error'] ?? {}) as Record<string, unknown>;
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_CODES, code))
    return `The code ${JSON.stringify(code)} is not known.`;
  if (ERROR_CODES[code as ErrorCode][0] !== status) return `The status ${status} is not that of ${code}.`;
  const isWhole = typeof message === 'string' && message !== '' && (param === null || typeof param === 'string');
  return isWhole ? undefined : 'The message or the param is wrong.';
}

function isFieldFault(error: unknown): boolean {
  const { path, code, message } = (error ?? {}) as Record<string, unknown>;
  return [path, code, message].every((value) => typeof value === 'string');
}

function rpcFault(status: number, type: string, text: string): string | undefined {
  if (text === '') return status < 300 || status === 405 ? undefined : `${status} without a body.`;
  // The router refuses what cannot be a path of ours before it is known whose it would be.
  if (type === PROBLEM) return parsed(text) === undefined ? 'The problem document is not JSON.' : undefined;
  if (type.startsWith('text/event-stream')) {
    const events = text.split(/\r?\n\r?\n/).map((event) =>
      event
        .split(/\r?\n/)
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(5))
        .join('\n')
        .trim(),
    );
    return events
      .filter((data) => data !== '')
      .map((data) => messageFault(parsed(data)))
      .find((fault) => fault !== undefined);
  }
  if (!type.startsWith('application/json')) return `The answer is ${type || 'without a content type'}.`;
  return messageFault(parsed(text));
}

function messageFault(message: Record<string, unknown> | undefined): string | undefined {
  if (message === undefined) return 'The answer is not a JSON object.';
  // The metadata document is the one answer at these paths that is no message.
  if (!('jsonrpc' in message)) return 'resource' in message ? undefined : 'The answer is not a JSON-RPC message.';
  if (message['jsonrpc'] !== '2.0') return 'jsonrpc is not 2.0.';
  if ('method' in message) return undefined;
  const { id, error } = message as { id?: unknown; error?: Record<string, unknown> };
  if (id !== null && typeof id !== 'string' && typeof id !== 'number' && !(id === undefined && error !== undefined))
    return 'The id is neither a string nor a number.';
  if ('result' in message === 'error' in message) return 'The answer has not exactly one of result and error.';
  if (error === undefined) return undefined;
  if (typeof error['message'] !== 'string') return 'The error has no message.';
  if (!RPC_CODES.has(Number(error['code']))) return `The error code ${String(error['code'])} is not documented.`;
  const { code } = (error['data'] ?? {}) as { code?: unknown };
  return typeof code !== 'string' || Object.hasOwn(ERROR_CODES, code) ? undefined : `The code ${code} is not known.`;
}

function mayShowKey({ label, body = '' }: Step): boolean {
  return label.endsWith('API_KEY_CREATE') || (label.endsWith('mcp/self') && body.includes('API_KEY_CREATE'));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
