import type { DataSource } from 'typeorm';

/** How many connections to the database of a spec wait for a lock that another one holds. */
export async function waitingForLocks(database: Pick<DataSource, 'query'>): Promise<number> {
  const [row]: { count: number }[] = await database.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return row?.count ?? 0;
}
