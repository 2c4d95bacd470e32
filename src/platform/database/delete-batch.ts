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

/** The statement of `deleteBatch`. */
export function batchDeletion(table: string, condition: string): string {
  const found = `SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${ROWS_PER_STATEMENT} FOR UPDATE SKIP LOCKED`;
  return deletionOf(table, found);
}

/**
 * Deletes the rows of a table that a query has found and locked. The plan does not depend on statistics.
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

function deletionOf(table: string, found: string): string {
  return `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(${found}))`;
}

async function deleted(database: Database, statement: string, values: readonly unknown[]): Promise<number> {
  const [, count] = (await database.query(statement, [...values])) as [unknown, number];
  return count;
}
