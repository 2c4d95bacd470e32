import type { Pool } from 'pg';
import { PeriodicTask } from '../../core/periodic-task.js';
import { errorName } from './error-name.js';

const STREAMS_PER_STATEMENT = 200;
const LONGEST_PAUSE_MS = 30_000;

// Any number of processes can sweep concurrently: each locks its own streams. A stream whose expiry its writer has just
// extended is locked, or checked against the new time, and is therefore kept.
const SWEEP = `
  WITH expired AS (
    SELECT run_id FROM run_event_streams WHERE expires_at < now() LIMIT ${STREAMS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
  ), streams AS (
    DELETE FROM run_event_streams USING expired WHERE run_event_streams.run_id = expired.run_id
  ), batches AS (
    DELETE FROM run_event_batches USING expired WHERE run_event_batches.run_id = expired.run_id
  )
  SELECT count(*)::integer AS swept FROM expired`;

/** Deletes expired streams in small steps until it is closed. */
export class PostgresSweeper {
  private readonly sweeps: PeriodicTask;

  constructor(
    private readonly pool: Pool,
    retentionMs: number,
    log: (message: string) => void,
  ) {
    this.sweeps = new PeriodicTask((signal) => this.sweep(signal), {
      pauseMs: Math.min(LONGEST_PAUSE_MS, retentionMs / 2),
      isSpread: true,
      onError: (error) => log(`Expired live events could not be deleted and will be tried again (${errorName(error)})`),
    });
  }

  start(): void {
    this.sweeps.start();
  }

  close(): Promise<void> {
    return this.sweeps.stop();
  }

  private async sweep(signal: AbortSignal): Promise<void> {
    let swept = STREAMS_PER_STATEMENT;
    while (swept === STREAMS_PER_STATEMENT && !signal.aborted) {
      const { rows } = await this.pool.query<{ swept: number }>(SWEEP);
      swept = rows[0]?.swept ?? 0;
    }
  }
}
