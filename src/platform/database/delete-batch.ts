/** What can run a statement: a data source, an entity manager, or a repository of TypeORM. */
interface Database {
  query(statement: string, values?: unknown[]): Promise<unknown>;
}

/** Enough for one statement, and few enough to lock none of them for long. */
export const ROWS_PER_STATEMENT = 1000;

/**
 * Deletes up to 1,000 rows of a table, except those that another process has locked.
 * @param condition what follows `WHERE`; it can end with `ORDER BY`
 * @returns the number of deleted rows
 */
export function deleteBatch(
  database: Database,
  table: string,
  condition: string,
  values: readonly unknown[] = [],
): Promise<number> {
  return deleted(database, batchDeletion(table, condition), values);
}

/** The statement of `deleteBatch`. @param limit of its rows */
export function batchDeletion(table: string, condition: string, limit: number = ROWS_PER_STATEMENT): string {
  return deletionOf(table, `SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${limit} FOR UPDATE SKIP LOCKED`);
}

/**
 * Deletes the rows of a table that a query has found and locked.
 * @param found selects the `ctid` of each row
 * @returns the number of deleted rows
 */
export function deleteFound(
  database: Database,
  table: string,
  found: string,
  values: readonly unknown[],
): Promise<number> {
  return deleted(database, deletionOf(table, found), values);
}

/**
 * The rows are found once, and fetched one by one. With `IN`, the plan depends on statistics: where they are old, the
 * query is repeated for each row of the table.
 * @param found selects the `ctid` of each row that is to be deleted
 */
export function deletionOf(table: string, found: string): string {
  return `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(${found}))`;
}

async function deleted(database: Database, statement: string, values: readonly unknown[]): Promise<number> {
  const [, count] = (await database.query(statement, [...values])) as [unknown, number];
  return count;
}
