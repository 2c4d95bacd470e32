import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { HealthCheck } from '../common/health-check.js';

/** Tells whether the database answers. */
@Injectable()
export class DatabaseProbe {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** Resolves when the database answered, rejects when it did not. */
  @HealthCheck('database')
  async ping(): Promise<void> {
    await this.dataSource.query('SELECT 1');
  }
}
