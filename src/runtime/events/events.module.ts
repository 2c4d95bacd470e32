import { Logger, Module } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { ExpiredStreams, PostgresRunEventStore } from './postgres-run-event-store.js';
import { RedisRunEventStore } from './redis-run-event-store.js';
import { RunEventStore } from './run-event-store.js';
import { RunEvents } from './run-events.js';

/** The run event bus: on Redis if it is configured, otherwise on PostgreSQL. */
@Module({
  providers: [
    { provide: RunEventStore, inject: [AppConfig], useFactory: createRunEventStore },
    RunEvents,
    ExpiredStreams,
  ],
  exports: [RunEvents],
})
export class EventsModule {}

function createRunEventStore(config: AppConfig): RunEventStore {
  const { databaseUrl, redis, streamRetentionMs: retentionMs } = config;
  const logger = new Logger(RunEventStore.name);
  const log = (message: string): void => logger.warn(message);
  return redis === undefined
    ? new PostgresRunEventStore({ databaseUrl, retentionMs, log })
    : new RedisRunEventStore({ address: redis, retentionMs, log });
}
