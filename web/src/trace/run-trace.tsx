import { useState } from 'react';
import { Button } from '../ui/button.js';
import { cn } from '../ui/class-names.js';
import { scaleOf } from './time-scale.js';
import { formatWindow, parseWindow, type TimeWindow } from './time-window.js';
import type { Span } from './span.js';
import { Axis } from './trace-axis.js';
import { TraceList } from './trace-list.js';
import { COLOURS } from './trace-rows.js';
import { ZoomButtons } from './zoom-buttons.js';

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
  return (
    <div className="@container flex min-w-0 flex-col gap-3">
      <ZoomButtons window={window} scale={scale} selected={chosen} onShow={show} />
      {/* The list below keeps room for its scroll bar as well. */}
      <div className="overflow-hidden [scrollbar-gutter:stable]">
        <Axis scale={scale} onShow={show} />
      </div>
      <TraceList spans={spans} scale={scale} selected={selected} onSelect={onSelect} />
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
