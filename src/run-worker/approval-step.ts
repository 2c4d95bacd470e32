import type { UIMessageChunk } from 'ai';
import type { AgentTool } from '../agents/agent-toolset.js';
import { isRecord } from '../common/is-record.js';
import type { GatedCall } from '../runs/records/run-approvals.js';
import type { AttemptApprovals, Decision } from './attempt-approvals.js';
import type { GatedPart, PendingToolCall } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import { executeToolCalls, refuseUnrepeatable, type ToolStepOptions, UNKNOWN_OUTCOME } from './tool-step.js';

const ANOTHER_TOOL =
  'The call was not made: its name now belongs to a tool of another connection than the approved one.';
const NOT_ASKED = `${UNKNOWN_OUTCOME} The call was not repeated, because it needs an approval.`;
const CALLED_BEFORE = `${UNKNOWN_OUTCOME} The call was not repeated, because an approval is for one call.`;

/** What settles the calls of a step. */
export interface ToolCallSettlement {
  tools: ReadonlyMap<string, AgentTool>;
  approvals: AttemptApprovals;
  control: RunAttemptControl;
  observation: ToolStepOptions['observation'];
}

/** Stores a step that the model has finished, with approvals for its calls that need one. */
export async function saveStep(
  answer: RunAnswer,
  { tools, approvals }: ToolCallSettlement,
  timeoutS: number,
): Promise<void> {
  const gated = answer.pendingToolCalls().flatMap((call) => gate(call, tools.get(call.toolName)));
  if (gated.length === 0) await answer.save();
  else await approvals.request(answer, gated, timeoutS);
}

/** Nobody is asked about a call that cannot be made anyway. */
function gate({ toolCallId, toolName, input }: PendingToolCall, tool: AgentTool | undefined): GatedCall[] {
  if (tool === undefined || !tool.needsApproval || tool.isInactive || !isRecord(input)) return [];
  return [{ toolCallId, toolName, upstreamTool: tool.upstreamName, connectionId: tool.connectionId, input }];
}

/**
 * Gives every call of a stored step its outcome. Calls without an approval are made at once. While an approval is open, the attempt
 * stops with the reason `waiting`; afterwards, another one makes the approved calls.
 * @param isResumed an earlier attempt stored the step, and may have made its calls
 * @throws RunStoppedError
 */
export async function settleToolCalls(
  answer: RunAnswer,
  settlement: ToolCallSettlement,
  isResumed: boolean,
): Promise<void> {
  const { tools, approvals, control, observation } = settlement;
  const { signal } = control;
  for (const { toolCallId } of answer.pendingToolCalls()) {
    const approval = approvals.find(toolCallId);
    if (approval !== undefined)
      await answer.append({ type: 'tool-approval-request', approvalId: approval.id, toolCallId });
  }
  // What needs an approval and has none was not stored with its step: nobody was asked.
  const refuse = (call: PendingToolCall, tool: AgentTool): string | undefined =>
    tool.needsApproval ? NOT_ASKED : refuseUnrepeatable(call, tool);
  await executeToolCalls(answer, answer.pendingToolCalls(), tools, {
    refuse: isResumed ? refuse : undefined,
    signal,
    observation,
  });
  if (answer.gatedToolCalls().length === 0) return;
  if (approvals.areOpen) {
    control.stop('waiting');
    signal.throwIfAborted();
  }
  await applyDecisions(answer, settlement);
}

/** Streams the decisions, and makes the approved calls. */
async function applyDecisions(
  answer: RunAnswer,
  { tools, approvals, control: { signal }, observation }: ToolCallSettlement,
): Promise<void> {
  const approved = new Map<GatedPart, Decision>();
  for (const call of answer.gatedToolCalls()) {
    const decision = approvals.decisionOn(call);
    if (decision === undefined) throw new TypeError(`The call ${call.toolCallId} has no approval.`);
    if (call.isRequested) await answer.append(toResponse(decision));
    if (decision.approved) approved.set(call, decision);
    else await answer.append({ type: 'tool-output-denied', toolCallId: call.toolCallId });
  }
  const refuse = async (call: PendingToolCall, { connectionId }: AgentTool): Promise<string | undefined> => {
    const decision = approved.get(call as GatedPart);
    if (decision !== undefined && decision.connectionId !== connectionId) return ANOTHER_TOOL;
    return decision !== undefined && (await approvals.take(decision)) ? undefined : CALLED_BEFORE;
  };
  await executeToolCalls(answer, [...approved.keys()], tools, { refuse, signal, observation });
}

/** Ends the calls that wait for an approval or are approved but not made, because the run ends. */
export async function denyGatedCalls(
  answer: RunAnswer,
  approvals: AttemptApprovals,
  status: 'failed' | 'cancelled',
  errorText: string,
): Promise<void> {
  const calls = answer.gatedToolCalls();
  await approvals.close(status === 'cancelled' ? 'cancelled' : 'ended');
  for (const call of calls) {
    const decision = approvals.decisionOn(call);
    const { toolCallId, approvalId } = call;
    if (call.isRequested) {
      await answer.append(
        decision ? toResponse(decision) : { type: 'tool-approval-response', approvalId, approved: false },
      );
    }
    if (decision?.approved) await answer.append({ type: 'tool-output-error', toolCallId, errorText, dynamic: true });
    else await answer.append({ type: 'tool-output-denied', toolCallId });
  }
}

function toResponse({ id: approvalId, approved, reason }: Decision): UIMessageChunk {
  return { type: 'tool-approval-response', approvalId, approved, ...(reason === null ? {} : { reason }) };
}
