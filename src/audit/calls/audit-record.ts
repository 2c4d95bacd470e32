import { withoutCredentials } from '../../core/credential-forms.js';
import { isUuid } from '../../core/ids.js';
import { contentJson } from './content-json.js';

/** The endpoint through which a tool was invoked. `self` and `api` are those of the management tools: MCP and HTTP. */
export const ENTRY_POINTS = ['proxy', 'legacy', 'call_tool', 'gateway', 'self', 'api', 'run'] as const;
export type EntryPoint = (typeof ENTRY_POINTS)[number];

/** The outcome of an invocation. `denied`: rejected before anything was sent upstream. */
export const AUDIT_STATUSES = ['success', 'error', 'denied'] as const;
export type AuditStatus = (typeof AUDIT_STATUSES)[number];

/** The facts known at the start of an invocation. Contains no credentials. */
export interface InvocationFacts {
  readonly organizationId: string;
  readonly entryPoint: EntryPoint;
  /** Null for management tools. */
  readonly connectionId: string | null;
  readonly agentId: string | null;
  /** As the caller sent it, cut to 256 characters when recorded. */
  readonly toolName: string;
  /** Null for an anonymous call of a public tool. */
  readonly userId: string | null;
  readonly apiKeyId: string | null;
  readonly runId: string | null;
  readonly requestId: string;
  /** Whether the call was allowed because the tool is public. */
  readonly public: boolean;
  /** Present only if the organization records arguments and results. Redacted when written. */
  readonly content?: { readonly arguments: unknown } | undefined;
}

export interface InvocationOutcome {
  readonly status: AuditStatus;
  /** A stable snake_case code (`ErrorCode`); null on success. */
  readonly errorCode: string | null;
  readonly durationMs: number;
  /**
   * The result from the tool or the upstream; undefined if there is none, it exceeds the capture limit, or it is not to
   * be recorded.
   */
  readonly result?: unknown;
}

/** The columns of a copied line, in order. */
export const COPY_COLUMNS =
  'organization_id, at, id, door, connection_id, agent_id, tool_name, status, error_code, duration_ms, ' +
  'user_id, api_key_id, run_id, request_id, public, arguments, result';

const MAX_TOOL_NAME_LENGTH = 256;
const MAX_ERROR_CODE_LENGTH = 64;
const MAX_REQUEST_ID_LENGTH = 128;

const NULL = String.raw`\N`;
const NO_CONTENT = `${NULL}\t${NULL}`;
/** The result of an answer that exceeded the capture limit. */
const NOT_CAPTURED = JSON.stringify({ truncated: true });

/** Characters with a meaning in COPY's text format, and NUL, which PostgreSQL's text type rejects. */
const SPECIAL = /[\\\n\r\t\0]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  '\\': String.raw`\\`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '\0': '',
};

/**
 * One record as a line of COPY's text format (PostgreSQL manual, COPY, "Text Format"). PostgreSQL must accept every
 * line, regardless of what a caller sent: a rejected line would reject all records of its batch.
 * @param at ISO 8601, UTC
 */
export function copyLine(id: string, at: string, facts: InvocationFacts, outcome: InvocationOutcome): string {
  const { status, errorCode, durationMs } = outcome;
  const code = errorCode === null ? NULL : text(errorCode, MAX_ERROR_CODE_LENGTH);
  return (
    `${facts.organizationId}\t${at}\t${id}\t${facts.entryPoint}\t${uuid(facts.connectionId)}\t${uuid(facts.agentId)}\t` +
    `${text(facts.toolName, MAX_TOOL_NAME_LENGTH)}\t${status}\t${code}\t${milliseconds(durationMs)}\t` +
    `${uuid(facts.userId)}\t${uuid(facts.apiKeyId)}\t${uuid(facts.runId)}\t` +
    `${text(facts.requestId, MAX_REQUEST_ID_LENGTH)}\t${facts.public ? 't' : 'f'}\t${content(facts, outcome)}\n`
  );
}

function uuid(value: string | null): string {
  return value !== null && isUuid(value) ? value : NULL;
}

/** Arguments and result, if they are recorded. */
function content({ content: recorded }: InvocationFacts, outcome: InvocationOutcome): string {
  if (recorded === undefined) return NO_CONTENT;
  return `${escaped(contentJson(recorded.arguments ?? {}))}\t${result(outcome)}`;
}

function result({ status, errorCode, result: recorded }: InvocationOutcome): string {
  if (recorded !== undefined) return escaped(contentJson(recorded));
  const isAnswered = status === 'success' || errorCode === 'tool_error';
  return isAnswered ? NOT_CAPTURED : NULL;
}

/** Removes credentials of the service, truncates, then escapes. A lone surrogate becomes U+FFFD. */
function text(value: string, maxLength: number): string {
  const shown = withoutCredentials(value);
  const kept = shown.length > maxLength ? shown.slice(0, maxLength) : shown;
  return escaped(kept.toWellFormed());
}

function escaped(value: string): string {
  return value.replace(SPECIAL, (character) => ESCAPES[character] ?? '');
}

/** Three decimals: microseconds. */
function milliseconds(duration: number): number {
  return Number.isFinite(duration) ? Math.round(duration * 1000) / 1000 : 0;
}
