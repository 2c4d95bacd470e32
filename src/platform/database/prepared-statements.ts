import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { Pool, QueryResultRow } from 'pg';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PipelinedConnections } from '../../core/pipelined-connections.js';
import { inTurn, type Turn } from './organization-locks.js';

/**
 * A statement that a connection parses and plans once. Its name identifies its text: two statements never share one.
 */
export interface PreparedStatement {
  readonly name: string;
  readonly text: string;
}

/** The call of a function of the database with arguments by their names, and the values of its parameters. */
export function functionCall(
  name: string,
  args: Readonly<Record<string, unknown>>,
): { call: string; values: unknown[] } {
  const list = Object.keys(args).map((argument, index) => `${argument} => $${index + 1}`);
  return { call: `${name}(${list.join(', ')})`, values: Object.values(args) };
}

const SHARED_CONNECTIONS = 2;

/**
 * Runs prepared statements, each in its own transaction. For statements that every run needs: TypeORM's own `query`
 * parses and plans each statement again. Rejects with the driver's error.
 */
@Injectable()
export class PreparedStatements implements OnApplicationShutdown {
  private readonly shared: PipelinedConnections;

  constructor(@InjectDataSource() private readonly dataSource: DataSource) {
    const { url, applicationName, connectTimeoutMS, extra } = dataSource.options as PostgresDataSourceOptions;
    const { query_timeout } = extra as { query_timeout: number };
    this.shared = new PipelinedConnections({
      connections: SHARED_CONNECTIONS,
      config: {
        connectionString: url,
        application_name: applicationName,
        connectionTimeoutMillis: connectTimeoutMS,
        query_timeout,
      },
    });
  }

  /** Runs a statement on a connection of the data source's pool. */
  async rows<R extends QueryResultRow>(statement: PreparedStatement, values: readonly unknown[]): Promise<R[]> {
    const pool = (this.dataSource.driver as PostgresDriver).master as Pool;
    const { rows } = await pool.query<R>({ ...statement, values: [...values] });
    return rows;
  }

  /** Runs a statement that waits for a lock of an organization's row, see `inTurn`. */
  rowsInTurn<R extends QueryResultRow>(
    turn: Turn,
    statement: PreparedStatement,
    values: readonly unknown[],
  ): Promise<R[]> {
    return inTurn(this.dataSource, turn, () => this.rows(statement, values));
  }

  /**
   * Runs a statement that reads a few rows by their keys, on a connection that other such statements use at the same
   * time.
   */
  async rowsByKey<R extends QueryResultRow>(statement: PreparedStatement, values: readonly unknown[]): Promise<R[]> {
    const { rows } = await this.shared.query<R>({ ...statement, values: [...values] });
    return rows;
  }

  onApplicationShutdown(): Promise<void> {
    return this.shared.end();
  }
}
