import type { DynamicToolUIPart } from 'ai';
import { visibleJson } from '../lib/visible-json';

interface ToolCallProps {
  part: DynamicToolUIPart;
  onAnswer: (approvalId: string, approved: boolean) => void;
}

/** A tool call and its result, and the question whether it may be made. */
export function ToolCall({ part, onAnswer }: ToolCallProps) {
  return (
    <section data-state={part.state}>
      <code>
        {part.toolName} {visibleJson(part.input)}
      </code>
      {part.state === 'approval-requested' && (
        <p>
          <button type="button" onClick={() => onAnswer(part.approval.id, true)}>
            Approve
          </button>
          <button type="button" onClick={() => onAnswer(part.approval.id, false)}>
            Deny
          </button>
        </p>
      )}
      {part.state === 'output-available' && <pre>{JSON.stringify(part.output)}</pre>}
      {part.state === 'output-error' && <p>{part.errorText}</p>}
      {part.state === 'output-denied' && <p>Denied</p>}
    </section>
  );
}
