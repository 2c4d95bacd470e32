import { DefaultNamingStrategy, type Table } from 'typeorm';

/**
 * Names constraints as PostgreSQL itself does when a statement leaves their names out, so that entities and migrations
 * agree without spelling any. Checks and indexes are named where they are declared.
 */
export class PostgresNaming extends DefaultNamingStrategy {
  override primaryKeyName(table: Table | string): string {
    return `${this.getTableName(table)}_pkey`;
  }

  override foreignKeyName(table: Table | string, columnNames: string[]): string {
    return `${this.getTableName(table)}_${columnNames.join('_')}_fkey`;
  }

  override uniqueConstraintName(table: Table | string, columnNames: string[]): string {
    return `${this.getTableName(table)}_${columnNames.join('_')}_key`;
  }
}
