import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { ClientBase } from 'pg';
import { AppConfig } from '../../core/config/app-config.js';
import { DatabaseClock } from './database-clock.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseProbe } from './database-probe.js';
import { ExpiredRows } from './expired-rows.js';

/** Longer than any statement that a request waits for, including the monitoring tools' own limit of 10 s. */
const ANSWER_WITHIN_MS = 12_000;

/**
 * How long a transaction can wait for its process. The locks of a process that hangs, or whose host is gone, would
 * otherwise keep all others waiting. No transaction waits for anything but the database.
 */
const IDLE_IN_TRANSACTION_MS = 15_000;
// In a statement: poolers refuse this parameter in the startup message.
const SESSION = `SET idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_MS}`;

/** The one TypeORM data source. Feature modules register their entities with `TypeOrmModule.forFeature`. */
@Module({
  imports: [
    DiscoveryModule,
    TypeOrmModule.forRootAsync({
      inject: [AppConfig],
      useFactory: (config: AppConfig) => ({
        ...withinTime(dataSourceOptions(config.databaseUrl)),
        autoLoadEntities: true,
        retryAttempts: 3,
        retryDelay: 500,
      }),
    }),
  ],
  providers: [DatabaseProbe, DatabaseClock, ExpiredRows],
})
export class DatabaseModule {}

/** Neither a database that never responds nor a process that hangs in a transaction blocks others forever. */
function withinTime(options: ReturnType<typeof dataSourceOptions>): ReturnType<typeof dataSourceOptions> {
  const onConnect = (client: ClientBase): Promise<unknown> => client.query(SESSION);
  return { ...options, extra: { ...options.extra, query_timeout: ANSWER_WITHIN_MS, onConnect } };
}
