import { isOpen, type RunDetails } from '../../records/run-columns.js';
import { MessageCard } from '../../transcript/message-card.js';
import { ErrorState, Loading } from '../../ui/states.js';
import type { useRunAnswer } from './use-run-answer.js';

/** The answer of a run, or why there is none to see. */
export function RunAnswer({
  run,
  answer: { message, result },
  onAnswered,
}: {
  readonly run: RunDetails;
  readonly answer: Pick<ReturnType<typeof useRunAnswer>, 'message' | 'result'>;
  readonly onAnswered?: (() => void) | undefined;
}) {
  if (message?.parts.some(({ type }) => type !== 'step-start')) {
    return (
      <MessageCard
        message={message}
        threadId={run.thread_id}
        isStreaming={isOpen(run)}
        isOfRunView
        onAnswered={onAnswered}
      />
    );
  }
  if (result.isError) return <ErrorState error={result.error} onRetry={() => void result.refetch()} />;
  if (result.isPending) return <Loading label="Loading the answer" />;
  return (
    <p className="text-sm text-muted-foreground">
      {isOpen(run) ? 'The agent has not answered yet.' : 'The run ended without an answer.'}
    </p>
  );
}
