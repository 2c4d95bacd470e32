import type { UIMessageChunk } from 'ai';
import type { AgentTool } from '../agents/agent-toolset.js';
import { isRecord } from '../common/is-record.js';
import { StorageLostError } from '../common/through-outage.js';
import type { PendingToolCall } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import { describeToolFailure, describeUnavailable, isStorageLost } from './tool-failure.js';
import { toOutcome, type ToolOutcome } from './tool-output.js';

const UNKNOWN_OUTCOME = 'The attempt that made this call broke off, and its outcome is unknown.';
const NOT_DECLARED = 'It was not repeated, because the tool is not declared read-only or idempotent.';

/**
 * Executes the tool calls that have no outcome yet, all at once. Each outcome is streamed as it arrives and stored soon after; all are stored at the end.
 * @param resumed the calls were stored by an attempt that was lost: only harmless ones are made again
 */
export async function executeToolCalls(
  answer: RunAnswer,
  tools: ReadonlyMap<string, AgentTool>,
  resumed: boolean,
  signal: AbortSignal,
): Promise<void> {
  const calls = answer.pendingToolCalls();
  // All of them settle before anything else is streamed, also when one of them fails.
  const settled = await Promise.allSettled(
    calls.map(async (call) => {
      const outcome = await execute(call, tools.get(call.toolName), resumed, signal);
      await answer.push(toChunk(call, outcome));
      answer.saveSoon();
    }),
  );
  signal.throwIfAborted();
  for (const result of settled) if (result.status === 'rejected') throw result.reason;
  await answer.save();
}

async function execute(
  call: PendingToolCall,
  tool: AgentTool | undefined,
  resumed: boolean,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  if (tool === undefined) return { errorText: `The tool ${call.toolName} is not available right now.` };
  if (resumed && !isRepeatable(tool)) {
    // While it cannot be listed, nobody knows what it is declared to be.
    const reason = tool.fault === undefined ? NOT_DECLARED : describeUnavailable(tool, tool.fault.reason);
    return { errorText: `${UNKNOWN_OUTCOME} ${reason}` };
  }
  if (!isRecord(call.input)) return { errorText: 'The arguments of a tool must be a JSON object.' };
  try {
    return toOutcome(await tool.call(call.input, signal));
  } catch (error) {
    // A run that is handed over leaves the call without an outcome: the next attempt decides what to do.
    signal.throwIfAborted();
    // Nor does one whose record cannot be written: whatever the tool has done must not be done again lightly.
    if (isStorageLost(error)) throw new StorageLostError('The call could not be recorded.', { cause: error });
    return { errorText: describeToolFailure(error, tool) };
  }
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
