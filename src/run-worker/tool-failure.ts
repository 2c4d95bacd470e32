import type { AgentTool } from '../agents/agent-toolset.js';
import { DomainError } from '../common/domain-error.js';
import { StorageLostError } from '../common/through-outage.js';
import { toDomainError } from '../common/to-domain-error.js';
import { UpstreamError, type UpstreamErrorKind } from '../upstreams/contract/upstream-error.js';

/** An upstream that fails like this cannot be reached or used, whatever is called. */
const UNAVAILABLE_KINDS: ReadonlySet<UpstreamErrorKind> = new Set([
  'unreachable',
  'unauthorized',
  'refused_address',
  'session_lost',
  'busy',
]);

type CalledTool = Pick<AgentTool, 'connectionTitle' | 'fault'>;

/** What the model is told of a call that failed: which connection is down, or what was wrong with the call. */
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

/** @param reason a sentence */
export function describeUnavailable({ connectionTitle, fault }: CalledTool, reason: string): string {
  return `The connection "${fault?.title ?? connectionTitle}" is not available right now: ${reason}`;
}

/** Is our own storage away? Whether the upstream has done its work is not known then. */
export function isStorageLost(error: unknown): boolean {
  if (error instanceof UpstreamError) return false;
  return error instanceof StorageLostError || toDomainError(error).code === 'storage_unavailable';
}
