import { ChevronLeft, ChevronRight, ZoomIn, ZoomOut } from 'lucide-react';
import { Button } from '../ui/button.js';
import { formatDuration } from '../ui/format.js';
import type { TimeScale } from './time-scale.js';
import { changedWindow, type TimeWindow, type WindowChange, windowIn } from './time-window.js';
import type { Span } from './span.js';

/** A selected stretch fills this share of the axis when it is zoomed to. */
const SPAN_SHARE = 0.8;

const CHANGES: readonly (readonly [WindowChange, string, typeof ZoomIn])[] = [
  ['in', 'Zoom in', ZoomIn],
  ['out', 'Zoom out', ZoomOut],
  ['earlier', 'Show earlier', ChevronLeft],
  ['later', 'Show later', ChevronRight],
];

/** Zooms the axis of a run, and says which part of the time it shows. */
export function ZoomButtons({
  window,
  scale: { origin, length },
  selected,
  onShow,
}: {
  readonly window: TimeWindow | undefined;
  readonly scale: TimeScale;
  readonly selected: Span | undefined;
  readonly onShow: (window: TimeWindow | undefined) => void;
}) {
  const { from, to } = window ?? { from: 0, to: length };
  const isDisabled: Readonly<Record<WindowChange, boolean>> = {
    in: to - from <= 1,
    out: window === undefined,
    earlier: from <= 0,
    later: to >= length,
  };
  const zoomTo = ({ start, end }: Span): void => {
    const margin = ((end - start) * (1 / SPAN_SHARE - 1)) / 2;
    onShow(windowIn({ from: start - origin - margin, to: end - origin + margin }, length));
  };
  return (
    <div role="toolbar" aria-label="Zoom of the timeline" className="flex flex-wrap items-center gap-1">
      {CHANGES.map(([change, label, Icon]) => (
        <Button
          key={change}
          size="icon"
          variant="ghost"
          aria-label={label}
          title={label}
          // A button that disabled itself would lose the focus.
          aria-disabled={isDisabled[change]}
          onClick={() => !isDisabled[change] && onShow(changedWindow(window, length, change))}
        >
          <Icon aria-hidden className="size-4" />
        </Button>
      ))}
      {selected && (
        <Button size="small" variant="ghost" onClick={() => zoomTo(selected)}>
          Zoom to {selected.label}
        </Button>
      )}
      {window && (
        <Button size="small" variant="ghost" onClick={() => onShow(undefined)}>
          Show the whole run
        </Button>
      )}
      <span aria-live="polite" className="ml-auto text-xs text-muted-foreground tabular-nums">
        {window
          ? `${formatDuration(from)} to ${formatDuration(to)} of ${formatDuration(length)}`
          : formatDuration(length)}
      </span>
    </div>
  );
}
