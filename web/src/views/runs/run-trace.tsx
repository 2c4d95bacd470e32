import { ChevronRight } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Button } from '../../ui/button.js';
import { cn } from '../../ui/class-names.js';
import { formatDuration } from '../../ui/time.js';
import { scaleOf, type TimeScale } from './time-scale.js';
import { formatWindow, parseWindow, type TimeWindow } from './time-window.js';
import type { Span } from './timeline.js';
import { Axis, BAR, COLUMNS } from './trace-axis.js';
import { type Step, treeOf } from './trace-tree.js';
import { ZoomButtons } from './zoom-buttons.js';

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
/** What a run did when: its steps with their model calls, tool calls and waits, beside a common axis of time. */
export function RunTrace({
  spans,
  zoom,
  onZoom,
  selected,
  onSelect,
}: {
  readonly spans: readonly Span[];
  /** The part of the time that is shown, as `formatWindow` writes it; undefined for all. */
  readonly zoom: string | undefined;
  readonly onZoom: (zoom: string | undefined) => void;
  /** The id of the stretch whose details are shown. */
  readonly selected: string | undefined;
  readonly onSelect: (id: string | undefined) => void;
}) {
  const [areWaitsShortened, setShortened] = useState(true);
  const { length } = scaleOf(spans);
  const window = parseWindow(zoom, length);
  const scale = scaleOf(spans, { areWaitsShortened, window });
  const show = (shown: TimeWindow | undefined): void => onZoom(shown && formatWindow(shown));
  const chosen = spans.find(({ id }) => id === selected);
  const hasShortened = scale.segments.some(({ isShortened }) => isShortened);
  const row = (span: Span, depth = 0) => (
    <SpanRow
      key={span.id}
      span={span}
      scale={scale}
      depth={depth}
      isSelected={span.id === selected}
      onSelect={() => onSelect(span.id === selected ? undefined : span.id)}
    />
  );
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <ZoomButtons window={window} scale={scale} selected={chosen} onShow={show} />
      <Axis scale={scale} onShow={show} />
      <ol aria-label="Timeline" className="flex min-w-0 flex-col text-sm">
        {treeOf(spans).map((node) =>
          'span' in node ? (
            row(node.span)
          ) : (
            <StepRow key={node.step.number} step={node.step} scale={scale}>
              {node.step.spans.map((span) => row(span, 1))}
            </StepRow>
          ),
        )}
      </ol>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <ul aria-label="Colours" className="flex flex-wrap gap-x-4 gap-y-1 text-xs text-muted-foreground">
          {KINDS.filter(([kind]) => spans.some((span) => span.kind === kind)).map(([kind, word]) => (
            <li key={kind} className="flex items-center gap-1.5">
              <span aria-hidden className={cn('size-2.5 rounded-sm', COLOURS[kind])} />
              {word}
            </li>
          ))}
        </ul>
        {(hasShortened || !areWaitsShortened) && (
          <Button size="small" variant="ghost" onClick={() => setShortened(!areWaitsShortened)}>
            {areWaitsShortened ? 'Show waits at full length' : 'Shorten waits'}
          </Button>
        )}
      </div>
    </div>
  );
}

function StepRow({
  step,
  scale,
  children,
}: {
  readonly step: Step;
  readonly scale: TimeScale;
  readonly children: ReactNode;
}) {
  const [isOpen, setOpen] = useState(true);
  return (
    <li className="min-w-0 border-b last:border-0">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        className={cn(COLUMNS, 'w-full rounded px-1 py-1.5 text-left hover:bg-muted')}
      >
        <span className="min-w-0 font-medium md:col-start-1 md:row-start-1">
          <ChevronRight
            aria-hidden
            className={cn('mr-1 inline size-3.5 text-muted-foreground', isOpen && 'rotate-90')}
          />
          Step {step.number}
        </span>
        <Bar stretch={step} scale={scale} className="bg-foreground/25" isThin />
        <Times stretch={step} scale={scale} />
      </button>
      {isOpen && <ol className="flex min-w-0 flex-col pb-1">{children}</ol>}
    </li>
  );
}

function SpanRow({
  span,
  scale,
  depth,
  isSelected,
  onSelect,
}: {
  readonly span: Span;
  readonly scale: TimeScale;
  readonly depth: number;
  readonly isSelected: boolean;
  readonly onSelect: () => void;
}) {
  const hasFailed =
    (span.kind === 'tool' || span.kind === 'model') && (span.outcome === 'error' || span.outcome === 'denied');
  return (
    <li className="min-w-0">
      <button
        type="button"
        aria-pressed={isSelected}
        onClick={onSelect}
        className={cn(COLUMNS, 'w-full rounded px-1 py-1.5 text-left hover:bg-muted', isSelected && 'bg-accent')}
      >
        <span className={cn('min-w-0 md:col-start-1 md:row-start-1', depth > 0 && 'pl-4')}>
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
    </li>
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
