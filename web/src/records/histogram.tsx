import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import { formatNumber } from '../ui/time.js';

/** What is counted in a step of time. */
export interface Bar {
  /** ISO 8601. */
  readonly at: string;
  readonly count: number;
  readonly failed: number;
}

/** The first and the last chosen bar, in the order in which they were chosen. */
type Selection = readonly [number, number];

const HEIGHT = 100;

/**
 * Counts over time in which a stretch can be chosen: by dragging, or with the arrow keys, which extend it with Shift,
 * and Enter. Escape gives it up.
 */
export function Histogram({
  label,
  bars,
  stepMs,
  formatAt,
  onChoose,
}: {
  readonly label: string;
  readonly bars: readonly Bar[];
  readonly stepMs: number;
  readonly formatAt: (at: string) => string;
  readonly onChoose: (from: string, to: string) => void;
}) {
  const [selection, setSelection] = useState<Selection>();
  const last = bars.length - 1;
  if (last < 0) return null;
  const [anchor, cursor] = selection ?? [last, last];
  const [first, end] = [Math.min(anchor, cursor), Math.min(Math.max(anchor, cursor), last)];
  const highest = Math.max(1, ...bars.map(({ count }) => count));

  const choose = (): void => {
    if (selection === undefined) return;
    const after = Date.parse(bars[end]?.at ?? '') + stepMs;
    onChoose(bars[first]?.at ?? '', new Date(after).toISOString());
    setSelection(undefined);
  };
  const moveTo = (to: number, isExtended: boolean): void => {
    const at = Math.max(0, Math.min(last, to));
    setSelection([isExtended ? anchor : at, at]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: cursor - 1,
      ArrowRight: cursor + 1,
      Home: 0,
      End: last,
    };
    const to = steps[event.key];
    if (to !== undefined) moveTo(to, event.shiftKey);
    else if (event.key === 'Enter') choose();
    else if (event.key === 'Escape') setSelection(undefined);
    else return;
    event.preventDefault();
  };
  const barAt = ({ currentTarget, clientX }: PointerEvent): number => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.floor(((clientX - left) / width) * bars.length);
  };

  const chosen = bars.slice(first, end + 1);
  const sum = (valueOf: (bar: Bar) => number): number => chosen.reduce((total, bar) => total + valueOf(bar), 0);
  const words =
    `${formatAt(bars[first]?.at ?? '')}${first === end ? '' : ` to ${formatAt(bars[end]?.at ?? '')}`}: ` +
    `${formatNumber(sum(({ count }) => count))}, ${formatNumber(sum(({ failed }) => failed))} failed`;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <div
        role="slider"
        tabIndex={0}
        aria-label={`${label}. Extend with Shift and the arrow keys, choose with Enter.`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={Math.min(cursor, last)}
        aria-valuetext={words}
        className="cursor-crosshair touch-pan-y rounded border bg-card"
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          moveTo(barAt(event), false);
        }}
        onPointerMove={(event) => {
          if (event.currentTarget.hasPointerCapture(event.pointerId)) moveTo(barAt(event), true);
        }}
        onPointerUp={choose}
        onPointerCancel={() => setSelection(undefined)}
      >
        <svg
          aria-hidden
          viewBox={`0 0 ${bars.length} ${HEIGHT}`}
          preserveAspectRatio="none"
          className="pointer-events-none block h-20 w-full"
        >
          {selection && <rect x={first} y={0} width={end - first + 1} height={HEIGHT} fill="var(--accent)" />}
          {bars.map(({ at, count, failed }, index) => {
            const [whole, bad] = [barHeight(count, highest), barHeight(failed, highest)];
            return (
              <g key={at}>
                <rect x={index + 0.1} y={HEIGHT - whole} width={0.8} height={whole} fill="var(--chart-1)" />
                <rect x={index + 0.1} y={HEIGHT - bad} width={0.8} height={bad} fill="var(--chart-2)" />
              </g>
            );
          })}
        </svg>
      </div>
      <div aria-hidden className="flex justify-between gap-3 text-xs text-muted-foreground">
        <span>{formatAt(bars[0]?.at ?? '')}</span>
        <span className="truncate">{selection ? words : 'Drag to choose a time'}</span>
        <span>{formatAt(bars[last]?.at ?? '')}</span>
      </div>
    </div>
  );
}

/** A few are seen among many. */
function barHeight(count: number, highest: number): number {
  return count === 0 ? 0 : Math.max(4, (count / highest) * (HEIGHT - 8));
}
