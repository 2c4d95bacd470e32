import { Link } from '@tanstack/react-router';
import { useFilters } from '../../api/filters.js';
import { useTool } from '../../api/queries.js';
import { useAgentTitles } from '../../records/agent-titles.js';
import type { RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import type { ChatMessage } from '../../transcript/message.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Page, Section } from '../../ui/page.js';
import { EmptyState, ErrorState, Loading } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { ChooseRun } from './choose-run.js';
import { ComparedFacts } from './compared-facts.js';
import { ComparedSteps } from './compared-steps.js';
import { RunAnswer } from './run-answer.js';
import { treeOf } from '../../trace/trace-tree.js';
import { useRunAnswer } from './use-run-answer.js';
import { useTimeline } from '../../trace/use-timeline.js';

const NO_PARTS: ChatMessage['parts'] = [];

/** Two runs side by side, and what differs between them. */
export function CompareView() {
  const [{ a, b }, filter] = useFilters();
  const first = useTool('RUN_GET', { id: a ?? '' }, { isEnabled: a !== undefined });
  const second = useTool('RUN_GET', { id: b ?? '' }, { isEnabled: b !== undefined });
  // While another run is read, the answer is still that of the run before.
  const runOf = ({ data }: typeof first, id: string | undefined) => (data?.item.id === id ? data?.item : undefined);
  const [runA, runB] = [runOf(first, a), runOf(second, b)];
  return (
    <Page
      title="Compare runs"
      actions={
        b !== undefined && (
          <>
            <Button variant="secondary" onClick={() => filter({ a: b, b: a })}>
              Swap
            </Button>
            <Button variant="secondary" onClick={() => filter({ b: undefined })}>
              Compare with another run
            </Button>
          </>
        )
      }
    >
      {a === undefined && <EmptyState title="Open a run, and choose “Compare”." />}
      {first.error && !runA && <ErrorState error={first.error} onRetry={() => void first.refetch()} />}
      {second.error && !runB && <ErrorState error={second.error} onRetry={() => void second.refetch()} />}
      {a !== undefined && !runA && !first.error && <Loading label="Loading the first run" />}
      {b !== undefined && !runB && !second.error && <Loading label="Loading the second run" />}
      {runA && b === undefined && <ChooseRun run={runA} onChoose={(id) => filter({ b: id })} />}
      {runA && runB && <TwoRuns key={`${a} ${b}`} a={runA} b={runB} />}
    </Page>
  );
}

function TwoRuns({ a, b }: { readonly a: RunDetails; readonly b: RunDetails }) {
  const titleOf = useAgentTitles([a.agent_id, b.agent_id]);
  const [first, second] = [useComparedRun(a), useComparedRun(b)];
  const areCallsKnown = first.isKnown && second.isKnown;
  return (
    <>
      <div className="grid grid-cols-1 gap-5 md:grid-cols-2">
        <Side name="First run" run={a} answer={first} />
        <Side name="Second run" run={b} answer={second} />
      </div>
      <ComparedFacts
        a={{ run: a, spans: first.spans, agentTitle: titleOf(a.agent_id) }}
        b={{ run: b, spans: second.spans, agentTitle: titleOf(b.agent_id) }}
        areCallsKnown={areCallsKnown}
      />
      <ComparedSteps
        a={first.steps}
        b={second.steps}
        areCallsKnown={areCallsKnown}
        missing={first.missing ?? second.missing}
      />
    </>
  );
}

function useComparedRun(run: RunDetails) {
  const { message, result } = useRunAnswer(run);
  const { spans, isKnown, missing } = useTimeline(run, message?.parts ?? NO_PARTS);
  const steps = treeOf(spans).flatMap((node) => ('step' in node ? [node.step] : []));
  return { message, result, spans, steps, isKnown, missing };
}

function Side({
  name,
  run,
  answer,
}: {
  readonly name: string;
  readonly run: RunDetails;
  readonly answer: ReturnType<typeof useComparedRun>;
}) {
  const { slug } = useOrganization();
  return (
    <Section
      title={name}
      actions={
        <Link to="/$org/runs/$runId" params={{ org: slug, runId: run.id }} className="text-sm text-primary underline">
          Open the {name.toLowerCase()}
        </Link>
      }
    >
      <div className="flex flex-wrap items-center gap-2 text-sm">
        <StatusBadge status={run.status} />
        <span className="text-muted-foreground">
          <Time value={run.created_at} />
        </span>
        {run.error && <span className="max-w-[70ch] min-w-0 break-words text-destructive">{run.error.message}</span>}
      </div>
      {run.question !== null && (
        <p className="line-clamp-4 rounded-md bg-muted p-3 text-sm break-words whitespace-pre-wrap">{run.question}</p>
      )}
      <RunAnswer run={run} answer={answer} />
    </Section>
  );
}
