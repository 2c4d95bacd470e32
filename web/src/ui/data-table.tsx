import type { CSSProperties, ReactNode } from 'react';
import { cn } from './class-names.js';

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Hides the column on narrow screens. */
  readonly isSecondary?: boolean;
  /** On narrow screens, stands below the other columns of its row, over the whole width. */
  readonly isBelow?: boolean;
  readonly align?: 'right';
}

/**
 * Rows of a list. The first column names the row and usually links to it. The roles are said, because Safari takes them
 * from a table that is laid out as a grid.
 */
export function DataTable<Row>({
  label,
  columns,
  rows,
  keyOf,
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}) {
  const isTwoLine = columns.some(({ isBelow }) => isBelow);
  const part = isTwoLine && 'max-md:col-span-full max-md:grid max-md:grid-cols-subgrid';
  const placeOf = ({ isSecondary, align }: Column<Row>): string =>
    cn(isSecondary && 'hidden md:table-cell', align === 'right' && 'text-right tabular-nums');
  return (
    <div
      className="relative min-w-0 overflow-x-auto rounded-lg border bg-card"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table
        role="table"
        className={cn('w-full text-left text-sm', isTwoLine && 'max-md:grid max-md:grid-cols-(--first-line)')}
        style={isTwoLine ? firstLineOf(columns) : undefined}
      >
        <thead role="rowgroup" className={cn('border-b text-muted-foreground', part)}>
          <tr role="row" className={cn(part)}>
            {columns.map((column) => (
              <th
                key={column.header}
                scope="col"
                role="columnheader"
                className={cn('px-3 py-2 font-medium', placeOf(column), column.isBelow && 'max-md:sr-only')}
              >
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={markRead} role="rowgroup" className={cn(part)}>
          {rows.map((row) => (
            <tr key={keyOf(row)} role="row" className={cn('border-b last:border-0 hover:bg-muted/50', part)}>
              {columns.map((column) => (
                <td
                  key={column.header}
                  role="cell"
                  className={cn(
                    'px-3 py-2 align-top',
                    // Long words break rather than reach into the next column.
                    isTwoLine && 'max-md:min-w-0',
                    placeOf(column),
                    column.isBelow && 'max-md:order-last max-md:col-span-full max-md:pt-0 max-md:empty:hidden',
                  )}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The tracks of the columns that stand beside each other on narrow screens: the first one takes what is left. */
function firstLineOf<Row>(columns: readonly Column<Row>[]): CSSProperties {
  const beside = columns.filter(({ isBelow, isSecondary }) => !isBelow && !isSecondary);
  const tracks = beside.map((_column, index) => (index === 0 ? 'minmax(6rem, 1fr)' : 'auto'));
  return { '--first-line': tracks.join(' ') } as CSSProperties;
}

/**
 * Lets the style tell rows that come later from those that the table began with, which have their first frame by then.
 */
function markRead(body: HTMLElement | null): void {
  if (body) requestAnimationFrame(() => requestAnimationFrame(() => body.setAttribute('data-read', '')));
}
