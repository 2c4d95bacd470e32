import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { DeletesExpired } from '../../core/deletes-expired.js';

const STREAMS_PER_STATEMENT = 200;
const LONGEST_PAUSE_MS = 30_000;

// A stream whose expiry its writer has just extended is locked, or checked against the new time, and is therefore kept.
const DELETE = `
  WITH expired AS (
    SELECT run_id FROM run_event_streams WHERE expires_at < now() LIMIT ${STREAMS_PER_STATEMENT} FOR UPDATE SKIP LOCKED
  ), batches AS (
    DELETE FROM run_event_batches USING expired WHERE run_event_batches.run_id = expired.run_id
  )
  DELETE FROM run_event_streams USING expired WHERE run_event_streams.run_id = expired.run_id`;

/** Deletes the expired streams of `PostgresRunEventStore`. */
@Injectable()
export class ExpiredStreams {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  @DeletesExpired('live events', ({ streamRetentionMs }) => Math.min(LONGEST_PAUSE_MS, streamRetentionMs / 2))
  async deleteExpired(): Promise<number> {
    const [, deleted]: [unknown, number] = await this.database.query(DELETE);
    return deleted;
  }
}
