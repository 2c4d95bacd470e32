import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { HealthCheck } from '../../core/health-check.js';

/** Between two writes that succeed. In between, an answer is enough. */
const WRITE_EVERY_MS = 5_000;
/**
 * Writes to the write-ahead log, which a standby refuses, and keeps 1 MiB of rows for which there is not enough memory,
 * so that they take room on the disk until the end of the statement. Changed rows and segments of the log alone would
 * still find room on a full disk, in files that are there already.
 */
const WRITE = `
  BEGIN;
  SET LOCAL work_mem = '64kB';
  SELECT pg_logical_emit_message(true, 'signalbox', 'ready');
  WITH filler AS MATERIALIZED (SELECT repeat('x', 8192) AS text FROM generate_series(1, 128)) SELECT count(text)
    FROM filler;
  COMMIT`;

/** Tells whether the database answers and has room. */
@Injectable()
export class DatabaseProbe {
  private writtenAt = -Infinity;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** Resolves when the database has answered and, at most every few seconds, has written; rejects when it has not. */
  @HealthCheck('database')
  async check(): Promise<void> {
    const now = performance.now();
    if (now - this.writtenAt < WRITE_EVERY_MS) {
      await this.dataSource.query('SELECT 1');
      return;
    }
    await this.write();
    this.writtenAt = now;
  }

  private async write(): Promise<void> {
    const session = this.dataSource.createQueryRunner();
    try {
      await session.query(WRITE).catch(async (error: unknown) => {
        await session.query('ROLLBACK').catch(() => undefined);
        throw error;
      });
    } finally {
      await session.release();
    }
  }
}
