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

/** The number of steps in the parts. */
export function stepCount(parts: UIMessage['parts']): number {
  return parts.filter(({ type }) => type === 'step-start').length;
}

/** True if the latest step has tool calls, whose outcomes the model must see. */
export function endsWithToolCalls(parts: UIMessage['parts']): boolean {
  const start = parts.findLastIndex(({ type }) => type === 'step-start');
  return parts.slice(start + 1).some(({ type }) => type === 'dynamic-tool');
}
