import { useFilters } from '../../api/filters.js';

/**
 * What a dialog edits, kept in the address (`?edit=<id>`, or `?edit=new`), so that a reload shows the dialog again; and
 * a function that opens it for something else, or closes it with undefined. A row that is not among the rows is not
 * edited.
 */
export function useEdited<Row extends object>(
  rows: readonly Row[],
  keyOf: (row: Row) => string,
): readonly [Row | 'new' | undefined, (edited: Row | 'new' | undefined) => void] {
  const [{ edit }, filter] = useFilters();
  const edited = edit === 'new' ? 'new' : rows.find((row) => keyOf(row) === edit);
  return [edited, (row) => filter({ edit: typeof row === 'object' ? keyOf(row) : row })];
}
