import { Injectable, type OnModuleInit } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import type { BoundedPool } from '../database/bounded-pool.js';
import { Metering } from './open-telemetry.js';
import { DB_CONNECTION_STATE, DB_CONNECTIONS, DB_CONNECTIONS_MAX, DB_PENDING_REQUESTS, DB_POOL_NAME } from './names.js';

/** The pool that all repositories share; the queue, the event bus and the audit log have connections of their own. */
const POOL = { [DB_POOL_NAME]: 'application' };

/** Reports the database connections of the application whenever metrics are collected. */
@Injectable()
export class DatabasePoolMetrics implements OnModuleInit {
  constructor(
    private readonly metering: Metering,
    @InjectDataSource() private readonly dataSource: DataSource,
  ) {}

  onModuleInit(): void {
    const { meter } = this.metering;
    const count = meter.createObservableUpDownCounter(DB_CONNECTIONS, {
      description: 'Database connections, by state.',
    });
    const max = meter.createObservableUpDownCounter(DB_CONNECTIONS_MAX, {
      description: 'Maximum number of connections in the pool.',
    });
    const pending = meter.createObservableUpDownCounter(DB_PENDING_REQUESTS, {
      description: 'Requests waiting for a database connection.',
    });
    meter.addBatchObservableCallback(
      (result) => {
        const { totalCount, idleCount, waiting, options } = (this.dataSource.driver as PostgresDriver)
          .master as BoundedPool;
        result.observe(count, idleCount, { ...POOL, [DB_CONNECTION_STATE]: 'idle' });
        result.observe(count, totalCount - idleCount, { ...POOL, [DB_CONNECTION_STATE]: 'used' });
        result.observe(max, options.max, POOL);
        result.observe(pending, waiting, POOL);
      },
      [count, max, pending],
    );
  }
}
