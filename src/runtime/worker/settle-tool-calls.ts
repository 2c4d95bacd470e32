import type { UIMessageChunk } from 'ai';
import type { AgentTool, ToolTarget } from '../../agents/agent-toolset.js';
import { isRecord } from '../../core/is-record.js';
import type { GatedCall, ApprovalState, RunApprovals } from '../runs/records/run-approvals.js';
import type { PendingToolCall, GatedPart } from './pending-tool-calls.js';
import type { RunAnswer } from './run-answer.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import {
  executeToolCalls,
  refuseUnrepeatable,
  type ToolStepOptions,
  UNKNOWN_OUTCOME,
  isStorageLost,
} from './execute-tool-calls.js';
import { StorageLostError, throughOutage } from '../../core/retry.js';
import { claimOf, type ClaimedRun } from '../runs/records/new-run.js';
import type { ApprovalEnd } from '../runs/records/run-approval.entity.js';

/** A closed approval. */
type Decision = ApprovalState & { readonly approved: boolean };

/** The approvals of a run during one attempt. */
export class AttemptApprovals {
  /** By tool call. */
  private states = new Map<string, ApprovalState>();

  private constructor(
    private readonly run: ClaimedRun,
    private readonly records: RunApprovals,
  ) {}

  /** With the approvals that earlier attempts have requested. */
  static async open(run: ClaimedRun, records: RunApprovals): Promise<AttemptApprovals> {
    const approvals = new AttemptApprovals(run, records);
    if (run.attempt > 1) approvals.states = byCall(await throughOutage(() => records.statesOf(run.id)));
    return approvals;
  }

  /** True while an approval of the run is open, as far as this attempt knows. */
  get areOpen(): boolean {
    return [...this.states.values()].some(({ closedAt }) => closedAt === null);
  }

  /** True if the run's credential was lost while the run waited. */
  get posterIsGone(): boolean {
    return [...this.states.values()].some(({ closedAs }) => closedAs === 'poster_gone');
  }

  /** The approval of a call; undefined if it needs none. */
  find(toolCallId: string): ApprovalState | undefined {
    return this.states.get(toolCallId);
  }

  /** The decision about a call; undefined while there is none. */
  decisionOn({ toolCallId }: Pick<GatedPart, 'toolCallId'>): Decision | undefined {
    const state = this.states.get(toolCallId);
    return state === undefined || state.approved === null ? undefined : { ...state, approved: state.approved };
  }

  /**
   * Stores the step with approvals for these of its calls.
   * @param timeoutS how long somebody can answer, in seconds
   * @throws StaleAttemptError, StaleWriterError
   */
  async request(answer: RunAnswer, calls: readonly GatedCall[], timeoutS: number): Promise<void> {
    await answer.saveWith((state) =>
      this.records.request(claimOf(this.run), { model: answer.model, answer: state }, calls, timeoutS),
    );
    this.states = byCall(await throughOutage(() => this.records.statesOf(this.run.id)));
  }

  /**
   * Must be called right before an approved call. False if the call must not be made, because an attempt has made it
   * before.
   * @throws StaleAttemptError, StorageLostError
   */
  async take({ id }: Decision): Promise<boolean> {
    try {
      return await this.records.takeCall(claimOf(this.run), id);
    } catch (error) {
      // Not repeated: a statement whose response was lost would find its own mark. Another attempt continues.
      throw isStorageLost(error) ? new StorageLostError('The call could not be recorded.', { cause: error }) : error;
    }
  }

  /** Denies what is still open, because the run ends. @throws StaleAttemptError */
  async close(end: Exclude<ApprovalEnd, 'answered'>): Promise<void> {
    if (this.states.size === 0) return;
    this.states = byCall(await throughOutage(() => this.records.closeOpen(claimOf(this.run), end)));
  }
}

function byCall(states: readonly ApprovalState[]): Map<string, ApprovalState> {
  return new Map(states.map((state) => [state.toolCallId, state]));
}

const NOT_ASKED = `${UNKNOWN_OUTCOME} The call was not repeated, because it needs an approval.`;
const CALLED_BEFORE = `${UNKNOWN_OUTCOME} The call was not repeated, because an approval is for one call.`;

/** What settles the calls of a step. */
export interface ToolCallSettlement {
  tools: ReadonlyMap<string, AgentTool>;
  approvals: AttemptApprovals;
  /** How long somebody can answer a request for an approval, in seconds. */
  approvalTimeoutS: number;
  control: Pick<RunAttemptControl, 'signal' | 'stop'>;
  observation: ToolStepOptions['observation'];
  files: ToolStepOptions['files'];
}

/** Stores a step that the model has finished, with approvals for its calls that need one. */
export async function saveStep(
  answer: RunAnswer,
  { tools, approvals, approvalTimeoutS }: ToolCallSettlement,
): Promise<void> {
  const calls = answer.pendingToolCalls().map((call) => gate(call, tools.get(call.toolName)));
  const gated = (await Promise.all(calls)).flat();
  if (gated.length === 0) await answer.save();
  else await approvals.request(answer, gated, approvalTimeoutS);
}

/** Nobody is asked about a call that cannot be made anyway. */
async function gate(call: PendingToolCall, tool: AgentTool | undefined): Promise<GatedCall[]> {
  if (tool === undefined || !tool.needsApproval || tool.isInactive || !isRecord(call.input)) return [];
  if (!(await tool.acceptsArguments(call.input))) return [];
  return [gatedCall(call, tool, tool.target)];
}

/** A call with all that an approval of it is for: the arguments are those that the upstream gets. */
function gatedCall({ toolCallId, toolName, input }: PendingToolCall, tool: AgentTool, target: ToolTarget): GatedCall {
  return { toolCallId, toolName, target, input: isRecord(input) ? tool.fillArguments(input) : input };
}

/**
 * Gives every call of a stored step its outcome. Calls without an approval are made at once. While an approval is open,
 * the attempt stops with the reason `waiting`; afterwards, another one makes the approved calls.
 * @param isResumed an earlier attempt stored the step, and may have made its calls
 * @throws RunStoppedError
 */
export async function settleToolCalls(
  answer: RunAnswer,
  settlement: ToolCallSettlement,
  isResumed: boolean,
): Promise<void> {
  const { tools, approvals, control, observation, files } = settlement;
  const { signal } = control;
  // An answer to a request is looked up in the transcript, and can come at once.
  if (await streamRequests(answer, approvals)) await answer.save();
  // What needs an approval and has none was not stored with its step: nobody was asked.
  const refuse = (call: PendingToolCall, tool: AgentTool): string | undefined =>
    tool.needsApproval ? NOT_ASKED : refuseUnrepeatable(call, tool);
  await executeToolCalls(answer, answer.pendingToolCalls(), tools, {
    refuse: isResumed ? refuse : undefined,
    signal,
    observation,
    files,
  });
  if (answer.gatedToolCalls().length === 0) return;
  if (approvals.areOpen) {
    control.stop('waiting');
    signal.throwIfAborted();
  }
  await applyDecisions(answer, settlement);
}

/** Streams the requests that readers do not know yet. Returns whether there were any. */
async function streamRequests(answer: RunAnswer, approvals: AttemptApprovals): Promise<boolean> {
  let hasAny = false;
  for (const call of [...answer.pendingToolCalls(), ...answer.gatedToolCalls()]) {
    const { toolCallId } = call;
    const approvalId = approvals.find(toolCallId)?.id;
    if (approvalId === undefined || ('approvalId' in call && call.approvalId === approvalId)) continue;
    await answer.append({ type: 'tool-approval-request', approvalId, toolCallId });
    hasAny = true;
  }
  return hasAny;
}

/**
 * Streams the decisions, and makes the approved calls. A call whose tool has changed since it was approved is asked
 * about again.
 */
async function applyDecisions(answer: RunAnswer, settlement: ToolCallSettlement): Promise<void> {
  const { tools, approvals, approvalTimeoutS, control, observation, files } = settlement;
  const { signal } = control;
  const approved = new Map<PendingToolCall, Decision>();
  const approvedPlaces = new Map<PendingToolCall, string>();
  const changed: GatedCall[] = [];
  for (const call of answer.gatedToolCalls()) {
    const decision = approvals.decisionOn(call);
    if (decision === undefined) throw new TypeError(`The call ${call.toolCallId} has no approval.`);
    const tool = tools.get(call.toolName);
    const reached = await targetNow(decision, tool, signal);
    if (tool !== undefined && reached !== undefined && !isApproved(reached, decision)) {
      changed.push(gatedCall(call, tool, reached));
      continue;
    }
    if (call.isRequested) await answer.append(toResponse(decision));
    if (decision.approved) {
      approved.set(call, decision);
      // The connection can still change before the call is made.
      if (reached !== undefined) approvedPlaces.set(call, reached.place);
    } else await answer.append({ type: 'tool-output-denied', toolCallId: call.toolCallId });
  }
  if (changed.length > 0) {
    await approvals.request(answer, changed, approvalTimeoutS);
    await streamRequests(answer, approvals);
  }
  const refuse = async (call: PendingToolCall): Promise<string | undefined> => {
    const decision = approved.get(call);
    return decision !== undefined && (await approvals.take(decision)) ? undefined : CALLED_BEFORE;
  };
  const options = { refuse, approvedPlaces, signal, observation, files };
  await executeToolCalls(answer, [...approved.keys()], tools, options);
  if (changed.length === 0) return;
  control.stop('waiting');
  signal.throwIfAborted();
}

/** What an approved call would reach now; undefined if it will not be made. */
async function targetNow(
  { approved, calledAt }: Decision,
  tool: AgentTool | undefined,
  signal: AbortSignal,
): Promise<ToolTarget | undefined> {
  if (!approved || calledAt !== null || tool === undefined || tool.isInactive) return undefined;
  return tool.readTarget(signal);
}

/** True if this is what a person has approved. */
function isApproved(target: ToolTarget, { connectionId, targetPlace, targetDefinition }: Decision): boolean {
  const isSamePlace = targetPlace === null ? target.connectionId === connectionId : target.place === targetPlace;
  // What cannot be listed at the moment cannot be compared.
  const isSameTool = target.definition === null || targetDefinition === null || target.definition === targetDefinition;
  return isSamePlace && isSameTool;
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
