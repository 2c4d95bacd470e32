import { ChevronRight, Wrench } from 'lucide-react';
import { type ReactNode, useContext } from 'react';
import { visibleJson } from '../../../packages/client/src/visible-json.js';
import { StateBadge } from '../ui/badge.js';
import { CodeBlock } from '../ui/code-block.js';
import type { State } from '../ui/state.js';
import { formatCost, formatDuration } from '../ui/format.js';
import { ApprovalForm, useQuestion } from './approval-form.js';
import { CallFactsOfAnswer } from './call-facts.js';
import type { ToolPart } from './message.js';
import { ToolOutput } from './tool-output.js';

/** Longer arguments and results are collapsed. */
const SHORT = 400;

/** A tool call: what was called with which arguments, what came of it, and the question whether it may be made. */
export function ToolCard({
  part,
  taskId,
  threadId,
  isLive,
  onAnswered,
}: {
  readonly part: ToolPart;
  /** The run that makes the call. */
  readonly taskId: string | undefined;
  readonly threadId: string;
  readonly isLive: boolean;
  readonly onAnswered?: (() => void) | undefined;
}) {
  const { approval } = part;
  const asked = part.state === 'approval-requested' ? part.approval.id : undefined;
  const question = useQuestion(taskId, asked);
  const { word, state } = question?.answered === undefined ? stateOf(part, isLive) : wordOf(question.answered.approved);
  // What succeeded is as a rule not looked at. React closes it when that changes, and leaves it to the reader then.
  const isOpen = part.state !== 'output-available';
  return (
    <section aria-label={`Tool call ${part.toolName}`} className="min-w-0 rounded-md border bg-background text-sm">
      <details open={isOpen} className="group/call">
        <summary className="flex cursor-pointer list-none flex-wrap items-center gap-2 p-3 [&::-webkit-details-marker]:hidden">
          <ChevronRight
            aria-hidden
            className="size-4 shrink-0 text-muted-foreground transition-transform group-open/call:rotate-90"
          />
          <Wrench aria-hidden className="size-4 shrink-0 text-muted-foreground" />
          <span className="min-w-0 font-mono font-medium break-all">{part.toolName}</span>
          <StateBadge state={state}>{word}</StateBadge>
          <Facts toolCallId={part.toolCallId} />
        </summary>
        <div className="flex min-w-0 flex-col gap-2 px-3 pb-3">
          {part.input !== undefined && question === undefined && (
            <Collapsible title="Arguments" isOpen={sizeOf(part.input) <= SHORT}>
              <CodeBlock text={visibleJson(part.input, 2)} label={`Arguments of ${part.toolName}`} />
            </Collapsible>
          )}
          {question !== undefined && (
            <ApprovalForm question={question} threadId={threadId} toolName={part.toolName} onAnswered={onAnswered} />
          )}
          {approval?.approved !== undefined && (
            <p className="break-words">
              {approval.approved ? 'Approved' : 'Denied'}
              {approval.reason && `: ${approval.reason}`}
            </p>
          )}
          {part.state === 'output-available' && (
            <Collapsible title="Result" isOpen={sizeOf(part.output) <= SHORT}>
              <ToolOutput output={part.output} toolName={part.toolName} />
            </Collapsible>
          )}
          {part.state === 'output-error' && (
            <div className="flex flex-col gap-1">
              <p className="font-medium text-destructive">Error</p>
              <CodeBlock text={part.errorText} label={`Error of ${part.toolName}`} />
            </div>
          )}
        </div>
      </details>
    </section>
  );
}

/** What the call took, once that is known. */
function Facts({ toolCallId }: { readonly toolCallId: string }) {
  const facts = useContext(CallFactsOfAnswer).get(toolCallId);
  if (facts === undefined) return null;
  const { durationMs, costUsd } = facts;
  return (
    <span className="ml-auto text-xs text-muted-foreground tabular-nums">
      {formatDuration(durationMs)}
      {costUsd !== undefined && ` · ${formatCost(costUsd)}`}
    </span>
  );
}

function Collapsible({
  title,
  isOpen,
  children,
}: {
  readonly title: string;
  readonly isOpen: boolean;
  readonly children: ReactNode;
}) {
  return (
    <details open={isOpen} className="min-w-0">
      <summary className="cursor-pointer py-0.5 text-muted-foreground">{title}</summary>
      <div className="pt-1">{children}</div>
    </details>
  );
}

function stateOf(part: ToolPart, isLive: boolean): { readonly word: string; readonly state: State } {
  switch (part.state) {
    case 'input-streaming':
    case 'input-available':
      return isLive ? { word: 'running', state: 'running' } : { word: 'no result', state: 'off' };
    case 'approval-requested':
      return { word: 'waiting for approval', state: 'waiting' };
    case 'approval-responded':
      return wordOf(part.approval.approved);
    case 'output-available':
      return { word: 'completed', state: 'ready' };
    case 'output-error':
      return { word: 'failed', state: 'failed' };
    case 'output-denied':
      return { word: 'denied', state: 'blocked' };
  }
}

function wordOf(isApproved: boolean): { readonly word: string; readonly state: State } {
  return isApproved ? { word: 'approved', state: 'running' } : { word: 'denied', state: 'blocked' };
}

function sizeOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}
