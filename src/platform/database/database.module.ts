import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AppConfig } from '../../core/config/app-config.js';
import { DatabaseClock } from './database-clock.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseProbe } from './database-probe.js';
import { ExpiredRows } from './expired-rows.js';

/** Longer than any statement that a request waits for, including the monitoring tools' own limit of 10 s. */
const ANSWER_WITHIN_MS = 12_000;

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

/** A database that accepts a statement and never responds must not block its caller forever. */
function withinTime(options: ReturnType<typeof dataSourceOptions>): ReturnType<typeof dataSourceOptions> {
  return { ...options, extra: { ...options.extra, query_timeout: ANSWER_WITHIN_MS } };
}
