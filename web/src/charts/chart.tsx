import { lazy, Suspense } from 'react';
import { cn } from '../ui/class-names.js';
import { DataTable } from '../ui/data-table.js';
import { formatNumber } from '../ui/format.js';
import { Brush } from './brush.js';
import { useZoom } from './period.js';
import { PLOT_INSETS, type PlotProps } from './plot-props.js';
import { formatStep, inWords, type StepRange, zoneOf } from './series.js';

const Plot = lazy(async () => ({ default: (await import('./plot.js')).Plot }));

/**
 * A chart over time with a legend, and the same as a table for those who read rather than look. A stretch that is
 * chosen in it becomes the period of the view.
 */
export function Chart({
  label,
  unit,
  range,
  formatValue = formatNumber,
  height = 'h-[220px]',
  ...plot
}: Pick<PlotProps, 'points' | 'series' | 'kind'> & {
  readonly label: string;
  /** What the vertical axis counts, such as `Calls`. */
  readonly unit: string;
  readonly range: StepRange;
  readonly formatValue?: (value: number) => string;
  /** The class with the height of the plot. */
  readonly height?: string;
}) {
  const { points, series, kind } = plot;
  const { zoomTo, zoomOut } = useZoom();
  const seconds = range.bucket_seconds;
  const formatAt = formatStep(seconds, (Date.parse(range.to) - Date.parse(range.from)) / 1000);
  const atOf = (index: number): string => points[index]?.at ?? range.from;
  const sumOf = (id: string): number => points.reduce((sum, { values }) => sum + (values[id] ?? 0), 0);
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <figcaption className="sr-only">{label}</figcaption>
      <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-1 text-[0.8125rem] text-muted-foreground">
        {series.map(({ id, label: name, color }) => (
          <li key={id} className="flex min-w-0 items-center gap-1.5 wrap-anywhere">
            <span aria-hidden className="size-2.5 shrink-0 rounded-xs" style={{ background: color }} />
            {name}
            {kind === 'bars' && <span className="text-foreground tabular-nums">{formatValue(sumOf(id))}</span>}
          </li>
        ))}
      </ul>
      <p aria-hidden className="text-xs text-muted-foreground">
        {kind === 'bars' ? `${unit} per ${inWords(seconds)}` : unit}
      </p>
      {points.length > 0 && (
        <Brush
          label={`Zoom: ${label}`}
          count={points.length}
          insets={PLOT_INSETS}
          className={cn('min-w-0 rounded', height)}
          hint="Drag to zoom in"
          before={`Time (${zoneOf(seconds)})`}
          wordsOf={(first, end) => `${formatAt(atOf(first))}${first === end ? '' : ` to ${formatAt(atOf(end))}`}`}
          onChoose={(first, end) => zoomTo(...stretchOf(atOf(first), atOf(end), range))}
          onEscape={zoomOut}
        >
          <Suspense fallback={<div data-loading className="h-full animate-pulse rounded bg-muted" />}>
            <Plot {...plot} formatAt={formatAt} formatValue={formatValue} />
          </Suspense>
        </Brush>
      )}
      <details>
        <summary className="w-fit cursor-pointer text-[0.8125rem] text-muted-foreground">Show as table</summary>
        <div className="max-h-72 overflow-auto pt-2">
          <DataTable
            label={`${label}, as a table`}
            rows={points}
            keyOf={({ at }) => at}
            columns={[
              { header: 'From', cell: ({ at }) => formatAt(at) },
              ...series.map(({ id, label: name }) => ({
                header: name,
                align: 'right' as const,
                cell: ({ values }: (typeof points)[number]) => {
                  const value = values[id];
                  return value === null || value === undefined ? '–' : formatValue(value);
                },
              })),
            ]}
          />
        </div>
      </details>
    </figure>
  );
}

/** From the beginning of a step to the end of another; the first and the last can be cut by the range. */
function stretchOf(first: string, end: string, { from, to, bucket_seconds: seconds }: StepRange): [string, string] {
  const start = Math.max(Date.parse(first), Date.parse(from));
  const stop = Math.min(Date.parse(end) + seconds * 1000, Date.parse(to));
  return [new Date(start).toISOString(), new Date(stop).toISOString()];
}
