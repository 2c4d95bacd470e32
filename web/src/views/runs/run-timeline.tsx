import { cn } from '../../ui/class-names.js';
import { formatDuration } from '../../ui/time.js';
import type { Span } from './timeline.js';

/** The narrowest bar, in percent: each stretch of time can be seen. */
const MIN_WIDTH = 0.6;

const COLOURS: Readonly<Record<Span['kind'], string>> = {
  queue: 'bg-muted-foreground/50',
  model: 'bg-[var(--chart-1)]',
  tool: 'bg-[var(--chart-4)]',
  approval: 'bg-[var(--chart-3)]',
};
const KINDS: readonly (readonly [Span['kind'], string])[] = [
  ['queue', 'Waiting for a worker'],
  ['model', 'Model'],
  ['tool', 'Tool call'],
  ['approval', 'Waiting for approval'],
];

/** What a run did when: one row for each stretch of time, with a bar on a common axis and its times in words. */
export function RunTimeline({ spans }: { readonly spans: readonly Span[] }) {
  const start = Math.min(...spans.map((span) => span.start));
  const length = Math.max(...spans.map((span) => span.end)) - start || 1;
  const percent = (ms: number): number => (ms / length) * 100;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <ol aria-label="Timeline" className="flex min-w-0 flex-col text-sm">
        {spans.map((span) => (
          <li
            key={span.id}
            className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-b py-1.5 last:border-0 md:grid-cols-[minmax(8rem,12rem)_minmax(0,1fr)_6rem]"
          >
            <div className="min-w-0 md:col-start-1 md:row-start-1">
              <span className={cn('break-words', span.kind === 'tool' && 'font-mono text-[0.8125rem]')}>
                {span.label}
              </span>
              {span.model && <span className="block text-xs wrap-anywhere text-muted-foreground">{span.model}</span>}
              <Outcome span={span} />
            </div>
            <div
              aria-hidden
              className="relative col-span-2 row-start-2 h-3 rounded bg-muted md:col-span-1 md:col-start-2 md:row-start-1"
            >
              <div
                className={cn(
                  'absolute inset-y-0 rounded',
                  COLOURS[span.kind],
                  (span.kind === 'tool' || span.kind === 'model') &&
                    (span.outcome === 'error' || span.outcome === 'denied') &&
                    'bg-[var(--chart-2)]',
                  span.isOpen && 'animate-pulse',
                )}
                style={{
                  left: `${Math.min(percent(span.start - start), 100 - MIN_WIDTH)}%`,
                  width: `${Math.max(percent(span.end - span.start), MIN_WIDTH)}%`,
                }}
              />
            </div>
            <div className="text-right whitespace-nowrap tabular-nums md:col-start-3 md:row-start-1">
              {span.isOpen ? 'so far ' : ''}
              {formatDuration(span.end - span.start)}
              <span className="block text-xs text-muted-foreground">after {formatDuration(span.start - start)}</span>
            </div>
          </li>
        ))}
      </ol>
      <ul aria-label="Colours" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted-foreground">
        {KINDS.filter(([kind]) => spans.some((span) => span.kind === kind)).map(([kind, word]) => (
          <li key={kind} className="flex items-center gap-1.5">
            <span aria-hidden className={cn('size-2.5 rounded-sm', COLOURS[kind])} />
            {word}
          </li>
        ))}
      </ul>
    </div>
  );
}

const OUTCOMES: Readonly<Record<string, string>> = {
  'model error': 'failed',
  'tool error': 'failed',
  'tool denied': 'denied',
  'approval success': 'approved',
  'approval denied': 'denied',
};

function Outcome({ span: { kind, outcome, fallback, note } }: { readonly span: Span }) {
  const word = fallback ? `Failed, went on to ${fallback}` : OUTCOMES[`${kind} ${outcome}`];
  const words = [word, note].filter(Boolean).join(' · ');
  if (words === '') return null;
  const isBad = outcome === 'error' || outcome === 'denied';
  return (
    <span className={cn('block text-xs break-words', isBad ? 'text-destructive' : 'text-muted-foreground')}>
      {words}
    </span>
  );
}
