import { hash } from 'node:crypto';
import { DomainError } from '../../core/domain-error.js';
import { batchDeletion } from './delete-batch.js';
import type { PreparedStatement, PreparedStatements } from './prepared-statements.js';

/** The count of a key in its window, over all processes. */
export interface WindowCount {
  readonly count: number;
  /** The time until the window ends, in milliseconds. */
  readonly endsInMs: number;
}

/** How much a window can count. */
interface WindowLimit {
  readonly max: number;
  /** The length of the window, in seconds. */
  readonly windowS: number;
  /** What is counted, in the plural, for the error. */
  readonly what: string;
}

/** The key for the count of something that the table must not hold, such as an address. */
export function hashedKey(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url');
}

/** The tables with the columns `key`, `points`, and `expire` in milliseconds since 1970. */
type CountTable = 'rate_limits' | 'failed_sign_ins' | 'mail_counts';

const NOW_MS = '(extract(epoch FROM now()) * 1000)::bigint';

/**
 * Counts in a table that all processes share. The window of a key begins with its first count. Only the clock of the
 * database counts: a process with another one would end the windows of the others.
 */
export class WindowCounts {
  private readonly addition: PreparedStatement;
  private readonly deletion: PreparedStatement;

  constructor(
    private readonly statements: PreparedStatements,
    table: CountTable,
  ) {
    const isOver = `counted.expire <= ${NOW_MS}`;
    this.addition = {
      name: `${table}_add`,
      text: `INSERT INTO ${table} AS counted (key, points, expire) VALUES ($1, $2, ${NOW_MS} + $3)
               ON CONFLICT (key) DO UPDATE SET
                 points = excluded.points + CASE WHEN ${isOver} THEN 0 ELSE counted.points END,
                 expire = CASE WHEN ${isOver} THEN excluded.expire ELSE counted.expire END
               RETURNING points AS count, greatest(0, expire - ${NOW_MS})::float8 AS "endsInMs"`,
    };
    this.deletion = {
      name: `${table}_delete`,
      text: `${batchDeletion(table, `expire < ${NOW_MS}`)} RETURNING 1`,
    };
  }

  /** Adds to the count of a key. @param windowS the length of a window that begins now, in seconds */
  async add(key: string, points: number, windowS: number): Promise<WindowCount> {
    const [counted] = await this.statements.rows<WindowCount>(this.addition, [key, points, windowS * 1000]);
    if (counted === undefined) throw new Error('An INSERT that updates on conflict returns its row.');
    return counted;
  }

  /**
   * Adds one to the count of a key.
   * @throws DomainError `too_many_requests` with `Retry-After` above the limit
   */
  async addWithin(key: string, { max, windowS, what }: WindowLimit): Promise<void> {
    const { count, endsInMs } = await this.add(key, 1, windowS);
    if (count <= max) return;
    const seconds = Math.max(1, Math.ceil(endsInMs / 1000));
    const detail = `Too many ${what}. Try again in ${Math.ceil(seconds / 60)} minutes.`;
    throw new DomainError('too_many_requests', detail, [], { headers: { 'retry-after': String(seconds) } });
  }

  /** Deletes up to 1,000 counts of windows that are over, and returns their number. */
  async deleteExpired(): Promise<number> {
    return (await this.statements.rows(this.deletion, [])).length;
  }
}
