import { X } from 'lucide-react';
import { type ReactNode, useEffect, useId, useRef } from 'react';
import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { isUuid } from '../../api/uuid.js';
import type { RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { RunTrace } from '../../trace/run-trace.js';
import { SpanDetails } from '../../trace/span-details.js';
import { useTimeline } from '../../trace/use-timeline.js';
import type { ChatMessage } from '../../transcript/message.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { ErrorState, Loading } from '../../ui/states.js';
import { namesOf } from './columns.js';
import type { ThreadOfChat } from './loaded-thread.js';
import { RunSummary } from './run-summary.js';
import type { useThreadChat } from './use-thread-chat.js';

/**
 * The answer whose trace is shown: its run is in the address (`?trace=…`). Columns have a name of their own each, since
 * a copied conversation has the answers of the first.
 */
export function useShownTrace(column = 1) {
  const [filters, filter] = useFilters();
  const id = useId();
  const name = namesOf(column).trace;
  const trace = filters[name];
  const buttonOf = (runId: string): string => `${id}-${runId}`;
  // What is chosen in a trace is of its run.
  const show = (runId: string | undefined): void => filter({ [name]: runId, span: undefined, zoom: undefined });
  return {
    runId: trace,
    /** The id of the button that shows a trace. */
    buttonOf,
    toggle: (runId: string): void => show(runId === trace ? undefined : runId),
    /** Gives the focus back to the button that has opened the trace. */
    close: (): void => {
      if (trace !== undefined) document.getElementById(buttonOf(trace))?.focus();
      show(undefined);
    },
    isShown: (runId: string): boolean => runId === trace,
  };
}

/**
 * The answer whose run is shown, if it is in this thread. Earlier messages are read until it is there: as far as the
 * run tells, it is one of this thread, or one that was copied into it.
 */
export function useTracedAnswer(
  { runId }: ReturnType<typeof useShownTrace>,
  thread: ThreadOfChat['thread'],
  { messages, hasEarlier, showEarlier }: ReturnType<typeof useThreadChat>,
): ChatMessage | undefined {
  const { may } = useOrganization();
  const answer = answerOf(runId, messages);
  const isMissing = runId !== undefined && answer === undefined && hasEarlier;
  const { data } = useTool('RUN_GET', { id: runId ?? '' }, { isEnabled: isMissing && isUuid(runId) && may('RUN_GET') });
  const isSought = isMissing && data?.item.id === runId && canAnswerIn(thread, data.item);
  const read = useRef(showEarlier);
  read.current = showEarlier;
  useEffect(() => {
    if (isSought) void read.current((earlier) => answerOf(runId, earlier) !== undefined);
  }, [isSought, runId]);
  return answer;
}

/** Whether a thread can have the answer of a run: copied answers name runs that are older than their thread. */
function canAnswerIn(thread: ThreadOfChat['thread'], { thread_id: threadId, created_at: at }: RunDetails): boolean {
  return threadId === thread.id || Date.parse(at) < Date.parse(thread.created_at);
}

function answerOf(runId: string | undefined, messages: readonly ChatMessage[]): ChatMessage | undefined {
  if (runId === undefined) return undefined;
  return messages.find(({ role, metadata }) => role === 'assistant' && metadata?.taskId === runId);
}

/** Shows or hides the trace of an answer. */
export function TraceButton({
  message,
  trace: { buttonOf, isShown, toggle },
}: {
  readonly message: ChatMessage;
  readonly trace: ReturnType<typeof useShownTrace>;
}) {
  const { may } = useOrganization();
  const runId = message.role === 'assistant' ? message.metadata?.taskId : undefined;
  if (runId === undefined || !may('RUN_GET')) return null;
  return (
    <Button
      id={buttonOf(runId)}
      size="small"
      variant="ghost"
      aria-expanded={isShown(runId)}
      onClick={() => toggle(runId)}
    >
      Trace
    </Button>
  );
}

/** What the run of an answer did when, beside the chat or over it. */
export function AnswerTrace({
  answer,
  isBeside,
  onClose,
}: {
  readonly answer: ChatMessage;
  readonly isBeside: boolean;
  readonly onClose: () => void;
}) {
  const content = <Trace answer={answer} />;
  if (!isBeside) {
    return (
      <Dialog title="Trace" isOpen onClose={onClose} className="w-[min(64rem,94vw)]">
        {content}
      </Dialog>
    );
  }
  return <Aside onClose={onClose}>{content}</Aside>;
}

function Aside({ onClose, children }: { readonly onClose: () => void; readonly children: ReactNode }) {
  return (
    <aside
      aria-label="Trace"
      className="sticky top-16 flex max-h-[calc(100dvh-5rem)] min-w-0 flex-col gap-4 self-start overflow-y-auto rounded-lg border bg-card p-4"
      onKeyDown={({ key }) => key === 'Escape' && onClose()}
    >
      <div className="flex items-center justify-between gap-3">
        <h2 className="font-semibold">Trace</h2>
        <Button variant="ghost" size="icon" aria-label="Close" onClick={onClose}>
          <X aria-hidden className="size-4" />
        </Button>
      </div>
      {children}
    </aside>
  );
}

function Trace({ answer }: { readonly answer: ChatMessage }) {
  const query = useTool('RUN_GET', { id: answer.metadata?.taskId ?? '' });
  const run = query.data?.item;
  if (query.isError) return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (run?.id !== answer.metadata?.taskId || run === undefined) return <Loading label="Loading the trace" />;
  return <RunOfAnswer key={run.id} run={run} answer={answer} />;
}

function RunOfAnswer({ run, answer }: { readonly run: RunDetails; readonly answer: ChatMessage }) {
  const [{ span: selected, zoom }, filter] = useFilters();
  const { spans, isReading, missing } = useTimeline(run, answer.parts);
  const chosen = spans.find(({ id }) => id === selected);
  return (
    <>
      <RunSummary run={run} />
      <RunTrace
        spans={spans}
        zoom={zoom}
        onZoom={(shown) => filter({ zoom: shown })}
        selected={selected}
        onSelect={(span) => filter({ span })}
      />
      {isReading && <Loading label="Loading the tool calls" />}
      {missing && <p className="text-[0.8125rem] text-muted-foreground">{missing}</p>}
      {chosen && (
        <SpanDetails
          key={chosen.id}
          span={chosen}
          message={answer}
          run={run}
          onClose={() => filter({ span: undefined })}
        />
      )}
    </>
  );
}
