import type { Pool } from 'pg';
import { errorName } from './error-name.js';

const STREAMS_PER_STATEMENT = 200;
const LONGEST_PAUSE_MS = 30_000;

// Any number of processes may sweep: each takes streams that no other holds. A stream that its writer has just prolonged is
// locked, or is judged by its new time, and so it stays.
const SWEEP = `
  WITH expired AS (
    SELECT run_id FROM run_event_streams WHERE expires_at < now() LIMIT ${STREAMS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
  ), streams AS (
    DELETE FROM run_event_streams USING expired WHERE run_event_streams.run_id = expired.run_id
  ), batches AS (
    DELETE FROM run_event_batches USING expired WHERE run_event_batches.run_id = expired.run_id
  )
  SELECT count(*)::integer AS swept FROM expired`;

/** Deletes expired streams, in small steps, from the moment it is started until it is closed. */
export class PostgresSweeper {
  private readonly pauseMs: number;
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private closed = false;

  constructor(
    private readonly pool: Pool,
    retentionMs: number,
    private readonly log: (message: string) => void,
  ) {
    this.pauseMs = Math.min(LONGEST_PAUSE_MS, retentionMs / 2);
  }

  /** Schedules the next sweep; the random part keeps processes that started together apart. */
  start(): void {
    if (this.closed) {
      return;
    }
    this.timer = setTimeout(
      () => {
        this.sweeping = this.sweepAll().then(() => this.start());
      },
      this.pauseMs * (0.75 + Math.random() / 2),
    ).unref();
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.sweeping;
  }

  private async sweepAll(): Promise<void> {
    try {
      let swept = STREAMS_PER_STATEMENT;
      while (swept === STREAMS_PER_STATEMENT && !this.closed) {
        const { rows } = await this.pool.query<{ swept: number }>(SWEEP);
        swept = rows[0]?.swept ?? 0;
      }
    } catch (error) {
      this.log(`Expired live events could not be deleted and will be tried again (${errorName(error)})`);
    }
  }
}
