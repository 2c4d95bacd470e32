import { lazy, Suspense } from 'react';
import { DataTable } from '../ui/data-table.js';
import { formatNumber } from '../ui/time.js';
import type { PlotProps } from './plot.js';

const Plot = lazy(async () => ({ default: (await import('./plot.js')).Plot }));

/** A chart over time with a legend, and the same as a table for those who read rather than look. */
export function Chart({
  label,
  formatValue = formatNumber,
  ...plot
}: Omit<PlotProps, 'formatValue'> & { readonly label: string; readonly formatValue?: (value: number) => string }) {
  const { points, series, formatAt } = plot;
  return (
    <figure className="flex min-w-0 flex-col gap-2">
      <figcaption className="sr-only">{label}</figcaption>
      <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-1 text-[0.8125rem] text-muted-foreground">
        {series.map(({ id, label: name, color }) => (
          <li key={id} className="flex items-center gap-1.5">
            <span aria-hidden className="size-2.5 rounded-xs" style={{ background: color }} />
            {name}
          </li>
        ))}
      </ul>
      <div aria-hidden className="h-[220px] min-w-0">
        <Suspense fallback={<div className="h-full animate-pulse rounded bg-muted" />}>
          <Plot {...plot} formatValue={formatValue} />
        </Suspense>
      </div>
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
