import type { ReactNode } from 'react';
import { type Column, DataTable } from '../ui/data-table.js';

export interface RankedRow<Counts> {
  readonly id: string;
  readonly name: ReactNode;
  readonly counts: Counts;
}

/**
 * Rows from the largest to the smallest, each with a bar that shows its share of the largest. Below them what is not
 * listed, and the total, so that the columns add up.
 */
export function Ranking<Counts>({
  label,
  rows,
  rest,
  total,
  nameHeader,
  value,
  valueHeader,
  formatValue,
  columns = [],
}: {
  readonly label: string;
  readonly rows: readonly RankedRow<Counts>[];
  /** What is not listed; undefined if all are. */
  readonly rest?: RankedRow<Counts> | undefined;
  readonly total: Counts;
  readonly nameHeader: string;
  readonly valueHeader: string;
  readonly value: (counts: Counts) => number;
  readonly formatValue: (value: number, counts: Counts) => ReactNode;
  readonly columns?: readonly Column<Counts>[];
}) {
  const largest = Math.max(...rows.map(({ counts }) => value(counts))) || 1;
  const named = new Set(rows);
  const sum: RankedRow<Counts> = {
    id: ' total',
    name: <strong className="font-semibold">Total</strong>,
    counts: total,
  };
  return (
    <DataTable
      label={label}
      rows={[...rows, ...(rest === undefined ? [] : [rest]), sum]}
      keyOf={({ id }) => id}
      columns={[
        {
          header: nameHeader,
          cell: (row) => (
            <div className="flex min-w-32 flex-col gap-1">
              <div className="break-words">{row.name}</div>
              {named.has(row) && (
                <div aria-hidden className="h-1 rounded-full bg-muted">
                  <div
                    className="h-1 rounded-full bg-primary"
                    style={{ width: `${(100 * value(row.counts)) / largest}%` }}
                  />
                </div>
              )}
            </div>
          ),
        },
        { header: valueHeader, align: 'right', cell: ({ counts }) => formatValue(value(counts), counts) },
        ...columns.map((column) => ({ ...column, cell: ({ counts }: RankedRow<Counts>) => column.cell(counts) })),
      ]}
    />
  );
}

/**
 * What the listed rows leave of the total.
 * @param fields that are sums
 * @param unknown the other fields, which do not follow from the rows
 */
export function restOf<Counts extends object>(
  total: Counts,
  rows: readonly RankedRow<Counts>[],
  fields: readonly (keyof Counts)[],
  unknown: Partial<Counts>,
): Counts {
  const left = fields.map((field) => {
    const whole = total[field];
    const listed = rows.reduce((sum, { counts }) => sum + Number(counts[field] ?? 0), 0);
    return [field, whole === null ? null : Number(whole) - listed];
  });
  return { ...total, ...unknown, ...Object.fromEntries(left) };
}
