import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';

/**
 * A statement that a connection parses and plans once. Its name identifies its text: two statements never share one.
 */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

/**
 * Runs prepared statements, each in its own transaction, on the connections of the data source. For statements that
 * every run needs: TypeORM's own `query` parses and plans each statement again. Rejects with the driver's error.
 */
@Injectable()
export class PreparedStatements {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  async rows<R extends QueryResultRow>(statement: PreparedStatement, values: readonly unknown[]): Promise<R[]> {
    const pool = (this.dataSource.driver as PostgresDriver).master as Pool;
    const { rows } = await pool.query<R>({ ...statement, values: [...values] });
    return rows;
  }
}
