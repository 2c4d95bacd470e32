import { DomainError } from '../../core/domain-error.js';
import type { ErrorCode } from '../../core/error-codes.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { UpstreamError, type UpstreamErrorKind } from '../../upstreams/contract/upstream-error.js';

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
