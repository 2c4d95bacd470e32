import type { ReactNode } from 'react';
import { type Column, DataTable } from '../ui/data-table.js';

/** Rows from the largest to the smallest, each with a bar that shows its share of the largest. */
export function Ranking<Row>({
  label,
  rows,
  keyOf,
  name,
  nameHeader,
  value,
  valueHeader,
  formatValue,
  columns = [],
}: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly nameHeader: string;
  readonly name: (row: Row) => ReactNode;
  readonly valueHeader: string;
  readonly value: (row: Row) => number;
  readonly formatValue: (value: number, row: Row) => ReactNode;
  readonly columns?: readonly Column<Row>[];
}) {
  const largest = Math.max(...rows.map(value)) || 1;
  return (
    <DataTable
      label={label}
      rows={rows}
      keyOf={keyOf}
      columns={[
        {
          header: nameHeader,
          cell: (row) => (
            <div className="flex min-w-32 flex-col gap-1">
              <div className="break-words">{name(row)}</div>
              <div aria-hidden className="h-1 rounded-full bg-muted">
                <div className="h-1 rounded-full bg-primary" style={{ width: `${(100 * value(row)) / largest}%` }} />
              </div>
            </div>
          ),
        },
        { header: valueHeader, align: 'right', cell: (row) => formatValue(value(row), row) },
        ...columns,
      ]}
    />
  );
}
