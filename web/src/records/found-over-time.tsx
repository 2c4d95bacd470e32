import { formatStep, inWords, stepsOf } from '../charts/series.js';
import type { Filters } from '../api/filters.js';
import { cn } from '../ui/class-names.js';
import { formatNumber } from '../ui/format.js';
import { type Bar, Histogram } from './histogram.js';

/** What the service counts of a list. */
export interface FoundCounts {
  readonly from: string;
  readonly to: string;
  readonly bucket_seconds: number;
  readonly bars: readonly Bar[];
  /** The failed ones by the code of their error. */
  readonly failures: readonly { readonly code: string; readonly count: number }[];
  readonly truncated: boolean;
}

/** A histogram above a list, and what failed in it by the code of the error. Both filter the list. */
export function FoundOverTime({
  what,
  counts,
  isAnyTime,
  filters,
  onFilter,
}: {
  /** Such as `runs`. */
  readonly what: string;
  readonly counts: FoundCounts;
  readonly isAnyTime: boolean;
  readonly filters: Filters;
  readonly onFilter: (change: Filters) => void;
}) {
  const { from, to, bucket_seconds: step, failures, truncated } = counts;
  const found = new Map(counts.bars.map((bar) => [bar.at, bar]));
  const bars = stepsOf(from, to, step).map((at) => found.get(at) ?? { at, count: 0, failed: 0 });
  const total = counts.bars.reduce((sum, { count }) => sum + count, 0);
  const failed = counts.bars.reduce((sum, bar) => sum + bar.failed, 0);
  return (
    <section aria-label={`Over time: ${what}`} className="flex min-w-0 flex-col gap-2">
      <p className="flex flex-wrap gap-x-4 text-sm text-muted-foreground">
        <span>
          <Swatch color="var(--chart-1)" />
          {formatNumber(total)} {total === 1 ? what.slice(0, -1) : what}
          {isAnyTime && ' in the last 7 days'}
        </span>
        <span>
          <Swatch color="var(--chart-2)" />
          {formatNumber(failed)} failed
        </span>
        <span className="max-sm:hidden">
          at most {formatNumber(Math.max(0, ...bars.map(({ count }) => count)))} per {inWords(step)}
        </span>
      </p>
      <Histogram
        label={`Number of ${what} over time`}
        bars={bars}
        stepMs={step * 1000}
        formatAt={formatStep(step, (Date.parse(to) - Date.parse(from)) / 1000)}
        onChoose={(first, end) => onFilter({ from: first, to: end, since: undefined })}
      />
      {failures.length > 0 && (
        <div role="group" aria-label="Failures by code" className="flex flex-wrap items-center gap-1.5">
          {failures.map(({ code, count }) => {
            const isOn = filters['code'] === code;
            return (
              <button
                key={code}
                type="button"
                aria-pressed={isOn}
                onClick={() => onFilter({ code: isOn ? undefined : code })}
                className={cn(
                  'rounded-full border px-2.5 py-0.5 text-[0.8125rem] pointer-coarse:min-h-11 pointer-coarse:px-4',
                  isOn ? 'border-primary bg-accent text-accent-foreground' : 'border-input bg-card hover:bg-muted',
                )}
              >
                <span className="font-mono">{code}</span> <span className="tabular-nums">{formatNumber(count)}</span>
              </button>
            );
          })}
          {truncated && <span className="text-[0.8125rem] text-muted-foreground">and more</span>}
        </div>
      )}
    </section>
  );
}

function Swatch({ color }: { readonly color: string }) {
  return <span aria-hidden className="mr-1.5 inline-block size-2.5 rounded-xs" style={{ background: color }} />;
}
