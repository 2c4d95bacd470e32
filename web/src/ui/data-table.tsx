import type { ReactNode } from 'react';

export interface Column<Row> {
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  /** Hides the column on narrow screens. */
  readonly isSecondary?: boolean;
  readonly align?: 'right';
}

/** Rows of a list. The first column names the row and usually links to it. */
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
  const visibility = ({ isSecondary, align }: Column<Row>): string =>
    `${isSecondary ? 'hidden md:table-cell' : ''} ${align === 'right' ? 'text-right tabular-nums' : ''}`;
  return (
    <div
      className="relative min-w-0 overflow-x-auto rounded-lg border bg-card"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <table className="w-full text-left text-sm">
        <thead className="border-b text-muted-foreground">
          <tr>
            {columns.map((column) => (
              <th key={column.header} scope="col" className={`px-3 py-2 font-medium ${visibility(column)}`}>
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={markRead}>
          {rows.map((row) => (
            <tr key={keyOf(row)} className="border-b last:border-0 hover:bg-muted/50">
              {columns.map((column) => (
                <td key={column.header} className={`px-3 py-2 align-top ${visibility(column)}`}>
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

/** Lets the style tell rows that come later from those that the table began with, which have their first frame by then. */
function markRead(body: HTMLElement | null): void {
  if (body) requestAnimationFrame(() => requestAnimationFrame(() => body.setAttribute('data-read', '')));
}
