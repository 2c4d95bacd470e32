import type { ToolOutput } from '../../../../packages/client/src/api.js';
import { useTool } from '../../api/queries.js';
import type { RunDetails } from '../../records/run-columns.js';
import { useOrganization } from '../../session/organization.js';
import { cn } from '../../ui/class-names.js';
import { Section } from '../../ui/page.js';
import { formatDuration, formatExactCost, formatNumber } from '../../ui/format.js';
import { NEEDED_FOR_RECORDINGS } from '../../trace/recorded-call.js';
import { changeOf, toolDifferences } from './run-differences.js';
import type { Span } from '../../trace/span.js';

interface ComparedRun {
  readonly run: RunDetails;
  readonly spans: readonly Span[];
  readonly agentTitle: string;
}

interface Row {
  readonly name: string;
  readonly a: string;
  readonly b: string;
  readonly difference: string;
  readonly isDifferent: boolean;
}

/** On narrow screens, the name of a row stands above its cells. */
const ROW =
  'grid grid-cols-3 gap-x-4 border-b px-3 py-2 text-sm last:border-0 md:grid-cols-[10rem_repeat(3,minmax(0,1fr))]';
const NAME = 'col-span-3 md:col-span-1';
const HEADERS = ['First run', 'Second run', 'Difference'];

function Table({ rows }: { readonly rows: readonly Row[] }) {
  return (
    <Section title="Differences">
      <div role="table" aria-label="Differences" className="min-w-0 rounded-md border">
        <div role="row" className={cn(ROW, 'text-muted-foreground')}>
          <span role="columnheader" className={NAME}>
            What
          </span>
          {HEADERS.map((header) => (
            <span key={header} role="columnheader">
              {header}
            </span>
          ))}
        </div>
        {rows.map(({ name, a, b, difference, isDifferent }) => (
          <div key={name} role="row" className={cn(ROW, isDifferent && 'bg-accent/40')}>
            <span role="rowheader" className={cn(NAME, 'text-muted-foreground')}>
              {name}
            </span>
            <span role="cell" className="break-words">
              {a}
            </span>
            <span role="cell" className="break-words">
              {b}
            </span>
            <span role="cell" className={cn('break-words', isDifferent ? 'font-medium' : 'text-muted-foreground')}>
              {difference}
            </span>
          </div>
        ))}
      </div>
    </Section>
  );
}

/** What two runs were, took and cost, and how far that differs. */
export function ComparedFacts({
  a,
  b,
  areCallsKnown,
}: {
  readonly a: ComparedRun;
  readonly b: ComparedRun;
  /** Whether the spans have all tool calls of both runs. */
  readonly areCallsKnown: boolean;
}) {
  const sent = useSentDifferences(a.run, b.run);
  const rows = [
    textRow('Status', a.run.status, b.run.status),
    textRow('Agent', a.agentTitle, b.agentTitle),
    textRow('Model', a.run.model, b.run.model),
    textRow('Tier', a.run.tier, b.run.tier),
    textRow('Temperature', a.run.temperature?.toString() ?? null, b.run.temperature?.toString() ?? null),
    ...sent,
    numberRow('Duration', a.run.duration_ms, b.run.duration_ms, formatDuration),
    numberRow('First token', firstTokenOf(a.run), firstTokenOf(b.run), formatDuration),
    numberRow('Steps', a.run.steps, b.run.steps),
    numberRow('Model calls', a.run.model_calls.length, b.run.model_calls.length),
    ...(areCallsKnown ? [numberRow('Tool calls', toolCallsOf(a.spans), toolCallsOf(b.spans))] : []),
    numberRow('Input tokens', a.run.usage?.inputTokens, b.run.usage?.inputTokens),
    numberRow('Cached input', sumOf(a.run, 'cached_input_tokens'), sumOf(b.run, 'cached_input_tokens')),
    numberRow('Output tokens', a.run.usage?.outputTokens, b.run.usage?.outputTokens),
    numberRow('Hidden reasoning', sumOf(a.run, 'reasoning_tokens'), sumOf(b.run, 'reasoning_tokens')),
    numberRow('Cost', a.run.cost_usd, b.run.cost_usd, formatExactCost),
    textRow('Error', a.run.error?.code ?? null, b.run.error?.code ?? null),
  ];
  return <Table rows={rows} />;
}

const UNKNOWN = '–';

function textRow(name: string, a: string | null, b: string | null): Row {
  const isDifferent = a !== b;
  return { name, a: a ?? UNKNOWN, b: b ?? UNKNOWN, isDifferent, difference: isDifferent ? 'differs' : 'same' };
}

function numberRow(
  name: string,
  a: number | null | undefined,
  b: number | null | undefined,
  format: (value: number) => string = formatNumber,
): Row {
  const shown = (value: number | null | undefined): string => (typeof value === 'number' ? format(value) : UNKNOWN);
  const row = { name, a: shown(a), b: shown(b) };
  const change = changeOf(a, b);
  if (change === undefined) {
    const isDifferent = (a ?? null) !== (b ?? null);
    return { ...row, isDifferent, difference: isDifferent ? 'differs' : 'same' };
  }
  const { difference, percent } = change;
  const sign = difference < 0 ? '−' : '+';
  const share = percent === undefined ? '' : ` (${sign}${formatNumber(Math.abs(percent))}%)`;
  return { ...row, isDifferent: true, difference: `${sign}${format(Math.abs(difference))}${share}` };
}

function firstTokenOf({ model_calls: calls }: RunDetails): number | null {
  return calls.find((call) => call.first_chunk_ms !== null)?.first_chunk_ms ?? null;
}

function toolCallsOf(spans: readonly Span[]): number {
  return spans.filter(({ kind }) => kind === 'tool').length;
}

function sumOf({ model_calls: calls }: RunDetails, name: 'cached_input_tokens' | 'reasoning_tokens'): number {
  return calls.reduce((sum, call) => sum + (call[name] ?? 0), 0);
}

type Recorded = NonNullable<ToolOutput<'RUN_MODEL_CALL_GET'>['item']>;

/** How the first model calls of the runs differ in what was sent, if both are on record. */
function useSentDifferences(a: RunDetails, b: RunDetails): Row[] {
  const { may } = useOrganization();
  const isPermitted = NEEDED_FOR_RECORDINGS.every(may);
  const isReadable = ({ model_calls: calls }: RunDetails) => ({ isEnabled: isPermitted && calls.length > 0 });
  const first = useTool('RUN_MODEL_CALL_GET', { id: a.id, number: 1 }, isReadable(a)).data?.item;
  const second = useTool('RUN_MODEL_CALL_GET', { id: b.id, number: 1 }, isReadable(b)).data?.item;
  if (!first || !second) return [];
  const row = (name: string, of: (call: Recorded) => { readonly hash: string; readonly size: number } | null): Row => {
    const [one, other] = [of(first), of(second)];
    const size = (text: typeof one): string => (text ? `${formatNumber(text.size)} characters` : UNKNOWN);
    const isDifferent = one?.hash !== other?.hash;
    return { name, a: size(one), b: size(other), isDifferent, difference: isDifferent ? 'differs' : 'same' };
  };
  const { added, removed, changed } = toolDifferences(first.request.tools, second.request.tools);
  const words = [
    ...added.map((name) => `+ ${name}`),
    ...removed.map((name) => `− ${name}`),
    ...changed.map((name) => `${name} changed`),
  ];
  return [
    row('Instructions', ({ request }) => request.instructions),
    {
      name: 'Tools',
      a: formatNumber(first.request.tools.length),
      b: formatNumber(second.request.tools.length),
      isDifferent: words.length > 0,
      difference: words.join(', ') || 'same',
    },
  ];
}
