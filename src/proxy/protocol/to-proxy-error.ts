import { DomainError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { UpstreamError, type UpstreamErrorKind } from '../../upstreams/contract/upstream-error.js';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { problemOf } from '../../api/tools/tools.service.js';

const CODES: Readonly<Record<UpstreamErrorKind, ErrorCode>> = {
  unreachable: 'upstream_unreachable',
  refused_address: 'upstream_unreachable',
  unauthorized: 'upstream_unauthorized',
  busy: 'upstream_busy',
  timeout: 'upstream_timeout',
  protocol: 'upstream_protocol',
  rpc: 'upstream_protocol',
  cancelled: 'upstream_unreachable',
  session_lost: 'session_not_found',
  authorization_required: 'upstream_authorization_required',
};

const CONFLICT = 409;

/** Converts any failure of an exchange with an upstream to the error for the caller. */
export function toProxyError(error: unknown): DomainError {
  if (!(error instanceof UpstreamError)) return toDomainError(error);
  const headers: Record<string, string> = error.kind === 'busy' ? { 'retry-after': '1' } : {};
  const { authorizationUrl } = error;
  const data: Record<string, string> = authorizationUrl === undefined ? {} : { authorization_url: authorizationUrl };
  // A conflict is the caller's to solve, such as a session that is in use.
  const options = { headers, data, ...(error.status === CONFLICT && { status: CONFLICT }) };
  return new DomainError(CODES[error.kind], error.message, [], options);
}

/** As many faults of arguments as those of other tools are listed with. */
const MAX_FAULTS = 20;

/** The result of a call of a tool of this service that has failed: a sentence for a model, and JSON for programs. */
export function toolFailure(error: DomainError, requestId: string): CallToolResult {
  const text = `${sentenceOf(error)}\n${JSON.stringify(problemOf(error, requestId))}`;
  return { isError: true, content: [{ type: 'text', text }] };
}

/** Names every fault, because the detail names only one. */
function sentenceOf({ detail, title, errors = [] }: DomainError): string {
  if (errors.length < 2) return detail ?? `${title}.`;
  const faults = errors
    .slice(0, MAX_FAULTS)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return `${title}. ${faults.join(' ')}`;
}
