import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSeconds } from './proxy-process.mjs';

const SAMPLE_MS = 1_000;
const MINUTE_MS = 60_000;

/**
 * Measures what services do that nobody calls, all in the same time.
 * @param {import('pg').Client} client of the server with their databases
 * @param {{ pid: number, database: string }[]} services
 * @param {number} forMs
 * @returns for each service, per minute: milliseconds of CPU time of Node.js and of the database's sessions, the
 *   transactions, and the rows that they read
 */
export async function measureBackground(client, services, forMs) {
  const nodes = services.map(({ pid }) => cpuSeconds(pid));
  const sessions = new SessionTimes(client);
  await sessions.sample();
  sessions.reset();
  const before = await countsOf(client);
  const startedAt = performance.now();
  while (performance.now() - startedAt < forMs) {
    await sleep(SAMPLE_MS);
    await sessions.sample();
  }
  const perMinute = MINUTE_MS / (performance.now() - startedAt);
  const after = await countsOf(client);
  return services.map(({ pid, database }, i) => {
    const counted = (figure) => (after.get(database)[figure] - before.get(database)[figure]) * perMinute;
    return {
      node: (cpuSeconds(pid) - nodes[i]) * 1_000 * perMinute,
      postgres: sessions.secondsOf(database) * 1_000 * perMinute,
      transactions: counted('transactions'),
      rows: counted('rows'),
    };
  });
}

/** The CPU time of the sessions of each database, as far as they are seen once a second. */
class SessionTimes {
  #client;
  #last = new Map();
  #seconds = new Map();

  constructor(client) {
    this.#client = client;
  }

  reset() {
    this.#seconds.clear();
  }

  secondsOf(database) {
    return this.#seconds.get(database) ?? 0;
  }

  async sample() {
    const { rows } = await this.#client.query(
      `SELECT pid, datname AS database FROM pg_stat_activity WHERE backend_type = 'client backend'`,
    );
    for (const { pid, database } of rows) {
      const now = cpuSeconds(pid) ?? 0;
      this.#seconds.set(database, this.secondsOf(database) + now - (this.#last.get(pid) ?? 0));
      this.#last.set(pid, now);
    }
  }
}

async function countsOf(client) {
  const { rows } = await client.query(
    `SELECT datname AS database, (xact_commit + xact_rollback)::float8 AS transactions, tup_returned::float8 AS rows
       FROM pg_stat_database WHERE datname IS NOT NULL`,
  );
  return new Map(rows.map((row) => [row.database, row]));
}
