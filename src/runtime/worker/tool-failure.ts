import type { AgentTool } from '../../agents/agent-toolset.js';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError } from '../../core/retry.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { UpstreamError, type UpstreamErrorKind } from '../../upstreams/contract/upstream-error.js';

/** Errors of an upstream that is unavailable for every call. */
const UNAVAILABLE_KINDS: ReadonlySet<UpstreamErrorKind> = new Set([
  'unreachable',
  'unauthorized',
  'refused_address',
  'session_lost',
  'busy',
]);

type CalledTool = Pick<AgentTool, 'connectionTitle' | 'fault'>;

/**
 * The error text that the model receives for a failed call. It names the connection that is down, or the fault in the
 * call.
 */
export function describeToolFailure(error: unknown, tool: CalledTool): string {
  if (error instanceof UpstreamError) {
    if (error.rpc !== undefined) return `${error.message} ${error.rpc.message}`;
    const isDown = tool.fault !== undefined || UNAVAILABLE_KINDS.has(error.kind);
    return isDown ? describeUnavailable(tool, error.message) : error.message;
  }
  if (error instanceof DomainError) {
    const isDown = error.code === 'connection_unavailable' || error.code === 'not_found';
    return isDown ? describeUnavailable(tool, error.message) : error.message;
  }
  return 'The tool could not be called because of an unexpected error.';
}

/** @param reason a complete sentence */
export function describeUnavailable({ connectionTitle, fault }: CalledTool, reason: string): string {
  return `The connection "${fault?.title ?? connectionTitle}" is not available right now: ${reason}`;
}

/** True if our own storage is unavailable. Whether the upstream executed the call is then unknown. */
export function isStorageLost(error: unknown): boolean {
  if (error instanceof UpstreamError) return false;
  return error instanceof StorageLostError || toDomainError(error).code === 'storage_unavailable';
}
