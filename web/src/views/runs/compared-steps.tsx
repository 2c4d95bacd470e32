import { Badge } from '../../ui/badge.js';
import { Section } from '../../ui/page.js';
import { formatDuration } from '../../ui/format.js';
import { pairsOf } from './run-differences.js';
import type { Span } from '../../trace/span.js';
import type { Step } from '../../trace/trace-tree.js';

/** The steps of two runs beside each other. */
export function ComparedSteps({
  a,
  b,
  areCallsKnown,
  missing,
}: {
  readonly a: readonly Step[];
  readonly b: readonly Step[];
  /** Whether the steps have all tool calls of both runs. Otherwise it is not said whether they are the same. */
  readonly areCallsKnown: boolean;
  /** Why they do not have them. */
  readonly missing: string | undefined;
}) {
  const pairs = pairsOf(a, b);
  if (pairs.length === 0) return null;
  return (
    <Section title="Steps">
      <ol aria-label="Steps" className="flex min-w-0 flex-col">
        {pairs.map((pair) => (
          <li key={pair.number} className="flex min-w-0 flex-col gap-2 border-b py-2 last:border-0">
            <span className="flex items-center gap-2 text-sm font-medium">
              Step {pair.number}{' '}
              {areCallsKnown && pair.isSame !== undefined && (
                <Badge tone={pair.isSame ? 'neutral' : 'warning'}>{wordOf(pair)}</Badge>
              )}
            </span>
            <div className="grid grid-cols-1 gap-x-5 gap-y-2 md:grid-cols-2">
              <StepOf step={pair.a} run="First run" />
              <StepOf step={pair.b} run="Second run" />
            </div>
          </li>
        ))}
      </ol>
      {missing !== undefined && <p className="text-[0.8125rem] text-muted-foreground">{missing}</p>}
    </Section>
  );
}

function wordOf({ a, b, isSame }: ReturnType<typeof pairsOf>[number]): string {
  if (a === undefined) return 'only in the second run';
  if (b === undefined) return 'only in the first run';
  return isSame ? 'the same calls' : 'other calls';
}

function StepOf({ step, run }: { readonly step: Step | undefined; readonly run: string }) {
  return (
    <div className="min-w-0 text-sm">
      <span className="text-xs text-muted-foreground">
        {run}
        {step && `, ${formatDuration(step.end - step.start)}`}
      </span>
      {step === undefined ? (
        <p className="text-muted-foreground">No such step.</p>
      ) : (
        <ul className="flex min-w-0 flex-col gap-1">
          {step.spans.map((span) => (
            <li key={span.id} className="min-w-0">
              <span className="flex flex-wrap gap-x-2">
                <span className="break-words">{span.label}</span>
                <span className="text-muted-foreground tabular-nums">{formatDuration(span.end - span.start)}</span>
              </span>
              {span.kind === 'tool' && <ArgumentsOf span={span} />}
              {span.note && <span className="block text-xs break-words text-muted-foreground">{span.note}</span>}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function ArgumentsOf({ span: { part, toolCall } }: { readonly span: Span }) {
  const value = part?.input ?? toolCall?.arguments;
  if (value === undefined || value === null) return null;
  return <code className="line-clamp-3 text-xs break-all">{JSON.stringify(value)}</code>;
}
