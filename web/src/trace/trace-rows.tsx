import { ChevronRight } from 'lucide-react';
import { cn } from '../ui/class-names.js';
import { formatDuration } from '../ui/format.js';
import type { TimeScale } from './time-scale.js';
import type { Span } from './span.js';
import { BAR, COLUMNS } from './trace-axis.js';
import type { Step } from './trace-tree.js';

/** The narrowest bar, in percent: each stretch of time can be seen. */
const MIN_WIDTH = 0.6;

export const COLOURS: Readonly<Record<Span['kind'], string>> = {
  queue: 'bg-muted-foreground/50',
  model: 'bg-[var(--chart-1)]',
  tool: 'bg-[var(--chart-4)]',
  approval: 'bg-[var(--chart-3)]',
};
/** A step, which can be closed over its stretches. */
export function StepRow({
  step,
  scale,
  isOpen,
  onToggle,
}: {
  readonly step: Step;
  readonly scale: TimeScale;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}) {
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={onToggle}
      className={cn(COLUMNS, 'w-full rounded px-1 py-1.5 text-left hover:bg-muted')}
    >
      <span className="min-w-0 font-medium md:col-start-1 md:row-start-1">
        <ChevronRight aria-hidden className={cn('mr-1 inline size-3.5 text-muted-foreground', isOpen && 'rotate-90')} />
        Step {step.number}
      </span>
      <Bar stretch={step} scale={scale} className="bg-foreground/25" isThin />
      <Times stretch={step} scale={scale} />
    </button>
  );
}

/** A stretch of time, which shows its details when it is pressed. */
export function SpanRow({
  span,
  scale,
  isInStep,
  isSelected,
  onSelect,
}: {
  readonly span: Span;
  readonly scale: TimeScale;
  readonly isInStep: boolean;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}) {
  const hasFailed =
    (span.kind === 'tool' || span.kind === 'model') && (span.outcome === 'error' || span.outcome === 'denied');
  return (
    <button
      type="button"
      aria-pressed={isSelected}
      onClick={onSelect}
      className={cn(COLUMNS, 'w-full rounded px-1 py-1.5 text-left hover:bg-muted', isSelected && 'bg-accent')}
    >
      <span className={cn('min-w-0 md:col-start-1 md:row-start-1', isInStep && 'pl-4')}>
        <span className={cn('break-words', span.kind === 'tool' && 'font-mono text-[0.8125rem]')}>{span.label}</span>
        {span.model && <span className="block text-xs wrap-anywhere text-muted-foreground">{span.model}</span>}
        <Outcome span={span} />
      </span>
      <Bar
        stretch={span}
        scale={scale}
        className={cn(hasFailed ? 'bg-[var(--chart-2)]' : COLOURS[span.kind], span.isOpen && 'animate-pulse')}
      />
      <Times stretch={span} scale={scale} />
    </button>
  );
}

type Stretch = Pick<Span, 'start' | 'end' | 'isOpen'>;

function Bar({
  stretch: { start, end },
  scale,
  className,
  isThin = false,
}: {
  readonly stretch: Stretch;
  readonly scale: TimeScale;
  readonly className: string;
  readonly isThin?: boolean;
}) {
  const left = Math.min(scale.at(start), 100 - MIN_WIDTH);
  return (
    <span aria-hidden className={cn(BAR, 'block overflow-hidden rounded bg-muted', isThin ? 'h-1.5' : 'h-3')}>
      {scale.segments
        .filter(({ isShortened }) => isShortened)
        .map((segment) => (
          <span
            key={segment.start}
            className="absolute inset-y-0 border-x border-dashed border-muted-foreground/50"
            style={{ left: `${segment.left}%`, width: `${segment.width}%` }}
          />
        ))}
      {scale.shows(start, end) && (
        <span
          className={cn('absolute inset-y-0 rounded', className)}
          style={{ left: `${left}%`, width: `${Math.max(scale.at(end) - left, MIN_WIDTH)}%` }}
        />
      )}
    </span>
  );
}

function Times({ stretch: { start, end, isOpen }, scale }: { readonly stretch: Stretch; readonly scale: TimeScale }) {
  return (
    <span className="text-right whitespace-nowrap tabular-nums md:col-start-3 md:row-start-1">
      {isOpen ? 'so far ' : ''}
      {formatDuration(end - start)}
      <span className="block text-xs text-muted-foreground">after {formatDuration(start - scale.origin)}</span>
    </span>
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
