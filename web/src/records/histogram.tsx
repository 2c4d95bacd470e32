import { Brush } from '../charts/brush.js';
import { formatNumber } from '../ui/format.js';

/** What is counted in a step of time. */
export interface Bar {
  /** ISO 8601. */
  readonly at: string;
  readonly count: number;
  readonly failed: number;
}

const HEIGHT = 100;

/** Counts over time in which a stretch can be chosen. */
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
  if (bars.length === 0) return null;
  const highest = Math.max(1, ...bars.map(({ count }) => count));
  const wordsOf = (first: number, end: number): string => {
    const chosen = bars.slice(first, end + 1);
    const sum = (valueOf: (bar: Bar) => number): number => chosen.reduce((total, bar) => total + valueOf(bar), 0);
    return (
      `${formatAt(bars[first]?.at ?? '')}${first === end ? '' : ` to ${formatAt(bars[end]?.at ?? '')}`}: ` +
      `${formatNumber(sum(({ count }) => count))}, ${formatNumber(sum(({ failed }) => failed))} failed`
    );
  };
  return (
    <Brush
      label={label}
      count={bars.length}
      className="rounded border bg-card"
      wordsOf={wordsOf}
      hint="Drag to choose a time"
      before={formatAt(bars[0]?.at ?? '')}
      after={formatAt(bars.at(-1)?.at ?? '')}
      onChoose={(first, end) => {
        const after = Date.parse(bars[end]?.at ?? '') + stepMs;
        onChoose(bars[first]?.at ?? '', new Date(after).toISOString());
      }}
    >
      <svg
        viewBox={`0 0 ${bars.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="pointer-events-none block h-12 w-full sm:h-20"
      >
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
    </Brush>
  );
}

/** A few are seen among many. */
function barHeight(count: number, highest: number): number {
  return count === 0 ? 0 : Math.max(4, (count / highest) * (HEIGHT - 8));
}
