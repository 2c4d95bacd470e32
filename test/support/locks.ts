interface Database {
  query(statement: string): Promise<unknown>;
}

/** How many connections to the database of a spec wait for a lock that another one holds. */
export async function waitingForLocks(database: Database): Promise<number> {
  const [row] = (await database.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )) as { count: number }[];
  return row?.count ?? 0;
}
