import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { readDatabaseTime } from '../../core/database-time.js';
import { PeriodicTask } from '../../core/periodic-task.js';

/** The monotonic clock of a process stands still while its machine sleeps. */
const READ_EVERY_MS = 5_000;

/** Reads the time of the database again and again, for `databaseNow`. */
@Injectable()
export class DatabaseClock implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(DatabaseClock.name);
  private readonly readings = new PeriodicTask(() => this.read(), {
    pauseMs: READ_EVERY_MS,
    isSpread: true,
    onError: (error) => this.logger.warn({ err: error }, 'Cannot read the time of the database'),
  });

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  async onModuleInit(): Promise<void> {
    await this.read();
    this.readings.start();
  }

  onApplicationShutdown(): void {
    void this.readings.stop();
  }

  private read(): Promise<void> {
    return readDatabaseTime(async () => {
      const [row]: { ms: number }[] = await this.dataSource.query(
        'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS ms',
      );
      if (row === undefined) throw new Error('A SELECT without FROM has one row.');
      return row.ms;
    });
  }
}
