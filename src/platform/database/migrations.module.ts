import { type DynamicModule, Module } from '@nestjs/common';
import type { MigrationInterface } from 'typeorm';
import { MIGRATIONS } from './migrations.js';

/** The class of a migration. Its name ends with the time at which it was written, in milliseconds since the epoch. */
type Migration = new () => MigrationInterface;

const TIMESTAMP_AT_END = /\D(\d{13})$/;

/** Process-wide, as TypeORM's entity metadata is: migrations run before the application exists. */
const ofExtensions = new Set<Migration>();

/**
 * Adds migrations to those of the service. They are registered as soon as the file of the importing module is loaded,
 * so that startup, tests and the command line all run the same list.
 */
@Module({})
export class MigrationsModule {
  /** @throws Error for a migration whose name has no timestamp, or shares its name or timestamp with another one */
  static forFeature(migrations: readonly Migration[]): DynamicModule {
    for (const migration of migrations) {
      refuseUnordered(migration);
      ofExtensions.add(migration);
    }
    return { module: MigrationsModule };
  }
}

/** The migrations of the service and of its extensions. TypeORM runs them in the order of their timestamps. */
export function allMigrations(): Migration[] {
  return [...MIGRATIONS, ...ofExtensions];
}

function refuseUnordered(migration: Migration): void {
  const timestamp = timestampOf(migration);
  if (timestamp === undefined) {
    throw new Error(`The name of the migration ${migration.name} does not end with a timestamp of 13 digits.`);
  }
  const other = allMigrations().find((known) => known !== migration && timestampOf(known) === timestamp);
  if (other === undefined) return;
  throw new Error(`The migrations ${other.name} and ${migration.name} have the same timestamp.`);
}

function timestampOf({ name }: Migration): string | undefined {
  return TIMESTAMP_AT_END.exec(name)?.[1];
}
