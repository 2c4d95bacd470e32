import { type PointerEvent, useState } from 'react';
import { cn } from '../ui/class-names.js';
import { formatDuration } from '../ui/format.js';
import type { TimeScale } from './time-scale.js';
import { type TimeWindow, windowIn } from './time-window.js';

/** The columns of a row of the trace: what, when on the axis, and how long. */
export const COLUMNS =
  'grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 ' +
  'md:grid-cols-[clamp(8rem,30cqi,16rem)_minmax(0,1fr)_6rem]';
/** The column of the axis. */
export const BAR = 'relative col-span-2 row-start-2 md:col-span-1 md:col-start-2 md:row-start-1';

/** A shorter stretch is a click by mistake, in percent. */
const MIN_BRUSH = 1;

interface Brush {
  readonly from: number;
  readonly to: number;
}

/**
 * The times of the axis, counted from the start of the run. A stretch that is dragged over is shown alone; the buttons
 * do the same by keyboard.
 */
export function Axis({
  scale,
  onShow,
}: {
  readonly scale: TimeScale;
  readonly onShow: (window: TimeWindow | undefined) => void;
}) {
  const [brush, setBrush] = useState<Brush>();
  const place = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(100, Math.max(0, ((clientX - left) / width) * 100));
  };
  const begin = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setBrush({ from: place(event), to: place(event) });
  };
  const end = (): void => {
    setBrush(undefined);
    if (brush === undefined || Math.abs(brush.to - brush.from) < MIN_BRUSH) return;
    const [from = 0, to = 0] = [brush.from, brush.to].toSorted((a, b) => a - b).map((at) => scale.timeAt(at));
    onShow(windowIn({ from: from - scale.origin, to: to - scale.origin }, scale.length));
  };
  return (
    <div aria-hidden className={cn(COLUMNS, 'hidden px-1 text-xs text-muted-foreground tabular-nums md:grid')}>
      <div
        className={cn(BAR, 'h-6 cursor-col-resize touch-none border-b select-none')}
        title="Drag to zoom"
        onPointerDown={begin}
        onPointerMove={(event) => brush && setBrush({ ...brush, to: place(event) })}
        onPointerUp={end}
        onPointerCancel={() => setBrush(undefined)}
      >
        {scale.ticks.map((tick) => (
          <span
            key={tick}
            className="absolute bottom-0 border-l pl-1 whitespace-nowrap"
            style={{ left: `${scale.at(tick)}%` }}
          >
            {tick === scale.origin ? '0' : formatDuration(tick - scale.origin)}
          </span>
        ))}
        {brush && (
          <span
            className="absolute inset-y-0 rounded bg-primary/25"
            style={{ left: `${Math.min(brush.from, brush.to)}%`, width: `${Math.abs(brush.to - brush.from)}%` }}
          />
        )}
      </div>
    </div>
  );
}
