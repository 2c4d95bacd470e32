import { Link, useParams } from '@tanstack/react-router';
import { useFilters } from '../../api/filters.js';
import { useChange, useTool } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import { isOpen, type RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import type { ChatMessage } from '../../transcript/message.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { Page, Section } from '../../ui/page.js';
import { ErrorState, Loading } from '../../ui/states.js';
import { formatDuration } from '../../ui/format.js';
import { RunAgainButton } from './run-again.js';
import { RunAnswer } from './run-answer.js';
import { RunFacts } from './run-facts.js';
import { RunWebhooks } from './run-webhooks.js';
import { RunTrace } from '../../trace/run-trace.js';
import { SpanDetails } from '../../trace/span-details.js';
import type { useLiveRun } from './use-live-run.js';
import { useRunAnswer } from './use-run-answer.js';
import { useTimeline } from '../../trace/use-timeline.js';

/** Longer questions are cut (`question` of RUN_GET). */
const QUESTION_LENGTH = 500;

const NO_PARTS: ChatMessage['parts'] = [];

/** One run: what it did when, what came of it, and why it failed. */
export function RunView() {
  const { runId } = useParams({ from: '/$org/runs/$runId' });
  const query = useTool('RUN_GET', { id: runId });
  const run = query.data?.item;
  if (query.isError && run === undefined) {
    return (
      <Page title="Run">
        <ErrorState error={query.error} onRetry={() => void query.refetch()} />
      </Page>
    );
  }
  if (run === undefined) {
    return (
      <Page title="Run">
        <Loading label="Loading the run" />
      </Page>
    );
  }
  return <LoadedRun key={run.id} run={run} />;
}

function LoadedRun({ run }: { readonly run: RunDetails }) {
  const { slug, may } = useOrganization();
  const titleOf = useAgentTitles([run.agent_id]);
  const { message, result, retries } = useRunAnswer(run);
  const [{ span: selected, zoom }, filter] = useFilters();
  const { spans, isReading, missing } = useTimeline(run, message?.parts ?? NO_PARTS);
  const shown = spans.find(({ id }) => id === selected);
  const cancel = useChange('RUN_CANCEL', ['RUN_GET', 'RUN_LIST', 'COLLECTION_THREADS_GET', 'COLLECTION_THREADS_LIST']);
  return (
    <Page
      title="Run"
      description={
        <span className="flex flex-wrap items-center gap-2">
          <StatusBadge status={run.status} /> {titleOf(run.agent_id)}
        </span>
      }
      actions={
        <>
          <Button asChild variant="secondary">
            <Link to="/$org/playground/$threadId" params={{ org: slug, threadId: run.thread_id }}>
              Continue in the playground
            </Link>
          </Button>
          <Button asChild variant="secondary">
            <Link to="/$org/runs/compare" params={{ org: slug }} search={{ a: run.id } as never}>
              Compare
            </Link>
          </Button>
          {!isOpen(run) && <RunAgainButton run={run} />}
          {isOpen(run) && may('RUN_CANCEL') && (
            <ConfirmButton
              label="Cancel run"
              title="Cancel this run?"
              onConfirm={() => cancel.mutateAsync({ id: run.id })}
            >
              The answer so far stays in the thread. Calls that were made are not undone.
            </ConfirmButton>
          )}
        </>
      }
    >
      {run.error !== null && (
        <section role="alert" aria-label="Error" className="rounded-lg border border-destructive/50 bg-card p-4">
          <h2 className="font-semibold text-destructive">The run failed</h2>
          <p className="break-words">{run.error.message}</p>
          <p className="text-sm break-words text-muted-foreground">
            Code {run.error.code} · Request {run.request_id}
          </p>
        </section>
      )}
      <div className="grid grid-cols-1 min-w-0 items-start gap-5 xl:grid-cols-[minmax(0,1fr)_26rem]">
        <div className="flex min-w-0 flex-col gap-5">
          {run.question !== null && (
            <Section title="Question">
              <p className="break-words whitespace-pre-wrap">
                {run.question}
                {[...run.question].length === QUESTION_LENGTH && '…'}
              </p>
            </Section>
          )}
          <Section title="Answer">
            <RunAnswer run={run} answer={{ message, result }} onAnswered={() => void result.refetch()} />
          </Section>
          <Section title="Timeline">
            <RunTrace
              spans={spans}
              zoom={zoom}
              onZoom={(shown) => filter({ zoom: shown })}
              selected={selected}
              onSelect={(span) => filter({ span })}
            />
            <TimelineNotes run={run} retries={retries} isReading={isReading} missing={missing} />
          </Section>
        </div>
        <div className="flex min-w-0 flex-col gap-5">
          {shown && (
            <SpanDetails
              key={shown.id}
              span={shown}
              message={message}
              run={run}
              onClose={() => filter({ span: undefined })}
            />
          )}
          <Section title="Facts">
            <RunFacts run={run} agentTitle={titleOf(run.agent_id)} />
          </Section>
          <RunWebhooks runId={run.id} />
        </div>
      </div>
    </Page>
  );
}

/** What the timeline leaves out, and how often the model was called in vain. */
function TimelineNotes({
  run,
  retries,
  isReading,
  missing,
}: {
  readonly run: RunDetails;
  readonly retries: ReturnType<typeof useLiveRun>['retries'];
  readonly isReading: boolean;
  readonly missing: string | undefined;
}) {
  const { may } = useOrganization();
  const end = run.model_calls.length > 0 ? '.' : '; the time between them is the model’s.';
  const source = may('MONITORING_LOGS_LIST') && `Tool calls are from the record of calls${end}`;
  return (
    <>
      {retries.map(({ attempt, max_attempts: all, delay_ms: delay, message: reason }) => (
        <p key={`${attempt} ${reason}`} className="text-sm">
          The model did not answer: {reason} Call {attempt} of {all} followed after {formatDuration(delay)}.
        </p>
      ))}
      {isReading && (
        <p role="status" aria-label="Loading the tool calls" className="text-[0.8125rem] text-muted-foreground">
          Loading the tool calls…
        </p>
      )}
      <p className="text-[0.8125rem] text-muted-foreground">{[source, missing].filter(Boolean).join(' ')}</p>
    </>
  );
}
