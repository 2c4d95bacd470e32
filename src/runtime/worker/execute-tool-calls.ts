import type { CallToolResult } from '@modelcontextprotocol/client';
import type { UIMessageChunk } from 'ai';
import type { AgentTool } from '../../agents/agent-toolset.js';
import { isRecord } from '../../core/is-record.js';
import { FairShare } from '../../core/sharing/fair-share.js';
import { StorageLostError } from '../../core/retry.js';
import { INTERRUPTED, NOT_LISTED, TOOL_ERROR } from '../../platform/telemetry/names.js';
import type { RunObservation } from '../../platform/telemetry/run-telemetry.js';
import type { IncomingTraceContext } from '../../platform/telemetry/trace-context.js';
import type { PendingToolCall } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import { type RunFiles, withStoredFiles } from './run-files.js';
import { toOutcome, type ToolOutcome } from './tool-output.js';
import { DomainError } from '../../core/domain-error.js';
import { toDomainError } from '../../core/to-domain-error.js';
import { UpstreamError, type UpstreamErrorKind } from '../../upstreams/contract/upstream-error.js';

export const UNKNOWN_OUTCOME = 'The attempt that made this call was interrupted, and the outcome is unknown.';
const NOT_DECLARED = 'The call was not repeated, because the tool is not declared read-only or idempotent.';

/** How many calls of a step are made at a time. */
const CALLS_AT_ONCE = 16;

/** An outcome, and the chunks that name its files in the answer. */
type CallOutcome = ToolOutcome & { files?: UIMessageChunk[] };

/** How tool calls are executed. */
export interface ToolStepOptions {
  /** Why a call is not made, as its error text; undefined if it is made, right after that. */
  refuse?: ((call: PendingToolCall, tool: AgentTool) => string | undefined | Promise<string | undefined>) | undefined;
  /** For calls that somebody has approved: the `ToolTarget.place` that the approval is for. */
  approvedPlaces?: ReadonlyMap<PendingToolCall, string>;
  signal: AbortSignal;
  observation: RunObservation;
  files: RunFiles;
}

/**
 * Executes tool calls concurrently, up to a number of them. Each outcome is streamed when it arrives and stored soon
 * after. All outcomes are stored before the promise resolves.
 */
export async function executeToolCalls(
  answer: RunAnswer,
  calls: readonly PendingToolCall[],
  tools: ReadonlyMap<string, AgentTool>,
  options: ToolStepOptions,
): Promise<void> {
  const { signal } = options;
  const turns = FairShare.ofTurns(CALLS_AT_ONCE);
  // All calls settle before anything else is streamed, even if one fails.
  const settled = await Promise.allSettled(
    calls.map((call) => turns.within([''], () => executeAndPush(answer, call, tools, options), signal)),
  );
  signal.throwIfAborted();
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  await answer.save();
}

async function executeAndPush(
  answer: RunAnswer,
  call: PendingToolCall,
  tools: ReadonlyMap<string, AgentTool>,
  options: ToolStepOptions,
): Promise<void> {
  const outcome = await executeInSpan(call, tools.get(call.toolName), options);
  await answer.push(toChunk(call, outcome));
  for (const file of outcome.files ?? []) await answer.push(file);
  answer.saveSoon();
}

/** Executes a call in a span of the run. A refusal is an outcome too. */
async function executeInSpan(
  call: PendingToolCall,
  tool: AgentTool | undefined,
  options: ToolStepOptions,
): Promise<CallOutcome> {
  const { observation, signal } = options;
  const observedCall = observation.beginTool(call.toolName, call.toolCallId);
  try {
    const outcome = await observedCall.within(() =>
      execute(call, tool, { ...options, trace: observedCall.traceContext }),
    );
    observedCall.end('errorText' in outcome ? TOOL_ERROR : undefined);
    return outcome;
  } catch (error) {
    observedCall.end(signal.aborted ? INTERRUPTED : NOT_LISTED);
    throw error;
  }
}

async function execute(
  call: PendingToolCall,
  tool: AgentTool | undefined,
  { refuse, approvedPlaces, signal, files, trace }: ToolStepOptions & { trace: IncomingTraceContext },
): Promise<CallOutcome> {
  if (tool === undefined) return { errorText: `The tool ${call.toolName} is not available right now.` };
  if (!isRecord(call.input)) return { errorText: 'The arguments of a tool must be a JSON object.' };
  signal.throwIfAborted();
  const refusal = await refuse?.(call, tool);
  if (refusal !== undefined) return { errorText: refusal };
  const room = tool.openRoom();
  try {
    const result = await tool.call(call.input, { signal, trace, approvedPlace: approvedPlaces?.get(call), room });
    return await outcomeOf(result, files, signal);
  } catch (error) {
    // A run that is handed over leaves the call without an outcome: the next attempt decides what to do.
    signal.throwIfAborted();
    // So does a call that cannot be recorded: the tool may have done its work, which must not be repeated unchecked.
    if (isStorageLost(error)) throw new StorageLostError('The call could not be recorded.', { cause: error });
    return { errorText: describeToolFailure(error, tool) };
  } finally {
    room.leave();
  }
}

/** The outcome that a result is, with its files stored. */
async function outcomeOf(result: CallToolResult, files: RunFiles, signal: AbortSignal): Promise<CallOutcome> {
  if (result.isError === true) return toOutcome(result);
  const { result: light, chunks } = await withStoredFiles(result, files, signal);
  const outcome = toOutcome(light);
  return 'output' in outcome ? { ...outcome, files: chunks } : outcome;
}

/** Refuses calls that a lost attempt may have made, unless they can be repeated. */
export function refuseUnrepeatable(_call: PendingToolCall, tool: AgentTool): string | undefined {
  if (isRepeatable(tool)) return undefined;
  // While the tool cannot be listed, its annotations are unknown.
  const reason = tool.fault === undefined ? NOT_DECLARED : describeUnavailable(tool, tool.fault.reason);
  return `${UNKNOWN_OUTCOME} ${reason}`;
}

function isRepeatable({ definition }: AgentTool): boolean {
  const annotations = definition?.annotations;
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

function toChunk({ toolCallId }: PendingToolCall, outcome: ToolOutcome): UIMessageChunk {
  return 'output' in outcome
    ? { type: 'tool-output-available', toolCallId, output: outcome.output, dynamic: true }
    : { type: 'tool-output-error', toolCallId, errorText: outcome.errorText, dynamic: true };
}

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
function describeUnavailable({ connectionTitle, fault }: CalledTool, reason: string): string {
  return `The connection "${fault?.title ?? connectionTitle}" is not available right now: ${reason}`;
}

/** True if our own storage is unavailable. Whether the upstream executed the call is then unknown. */
export function isStorageLost(error: unknown): boolean {
  if (error instanceof UpstreamError) return false;
  return error instanceof StorageLostError || toDomainError(error).code === 'storage_unavailable';
}
