import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { QueryRunner } from 'typeorm';

/**
 * Creates or replaces a function of the database, with its triggers, as `functions/<name>.sql` has it. A migration that
 * changes a function calls this; if the arguments or the result change, it drops the function first.
 */
export async function createFunction(queryRunner: QueryRunner, name: string): Promise<void> {
  await queryRunner.query(await readFile(join(import.meta.dirname, '../functions', `${name}.sql`), 'utf8'));
}
