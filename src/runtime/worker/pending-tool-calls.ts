import type { DynamicToolUIPart, UIMessage } from 'ai';

/** A tool call that has no outcome yet. */
export interface PendingToolCall {
  toolCallId: string;
  toolName: string;
  input: unknown;
}

/** The tool calls without an outcome, in the order in which the model made them. */
export function pendingToolCalls(parts: UIMessage['parts']): PendingToolCall[] {
  return parts
    .filter((part): part is DynamicToolUIPart => part.type === 'dynamic-tool')
    .filter(({ state }) => state === 'input-available')
    .map(({ toolCallId, toolName, input }) => ({ toolCallId, toolName, input }));
}

/** A tool call that needs an approval and has no outcome yet. */
export interface GatedPart extends PendingToolCall {
  approvalId: string;
  /** True until the answer to the request was streamed. */
  isRequested: boolean;
}

/** The tool calls without an outcome whose approval was requested, in the order in which the model made them. */
export function gatedToolCalls(parts: UIMessage['parts']): GatedPart[] {
  return parts.flatMap((part) => {
    if (part.type !== 'dynamic-tool') return [];
    if (part.state !== 'approval-requested' && part.state !== 'approval-responded') return [];
    const { toolCallId, toolName, input, approval, state } = part;
    return [{ toolCallId, toolName, input, approvalId: approval.id, isRequested: state === 'approval-requested' }];
  });
}

/** The number of steps in the parts. */
export function stepCount(parts: UIMessage['parts']): number {
  return parts.filter(({ type }) => type === 'step-start').length;
}

/** True if the latest step has tool calls, whose outcomes the model must see. */
export function endsWithToolCalls(parts: UIMessage['parts']): boolean {
  const start = parts.findLastIndex(({ type }) => type === 'step-start');
  return parts.slice(start + 1).some(({ type }) => type === 'dynamic-tool');
}
