import { describe, expect, it } from '@jest/globals';
import { MIGRATIONS } from './migrations.js';
import { allMigrations, MigrationsModule } from './migrations.module.js';

class Migration {
  async up(): Promise<void> {}
  async down(): Promise<void> {}
}
class Pantry1764000000001 extends Migration {}
class Cellar1764000000001 extends Migration {}
class Early1763700000000 extends Migration {}
class Undated extends Migration {}

describe('MigrationsModule', () => {
  it('adds migrations to those of the service, each once', () => {
    MigrationsModule.forFeature([Pantry1764000000001]);
    MigrationsModule.forFeature([Pantry1764000000001]);
    expect(allMigrations()).toEqual([...MIGRATIONS, Pantry1764000000001]);
  });

  it.each([
    [Undated, 'The name of the migration Undated does not end with a timestamp of 13 digits.'],
    [Cellar1764000000001, 'The migrations Pantry1764000000001 and Cellar1764000000001 have the same timestamp.'],
    [Early1763700000000, 'The migrations Baseline1763700000000 and Early1763700000000 have the same timestamp.'],
  ])('refuses %p, which has no place in the order', (migration, message) => {
    MigrationsModule.forFeature([Pantry1764000000001]);
    expect(() => MigrationsModule.forFeature([migration])).toThrow(message);
    expect(allMigrations()).not.toContain(migration);
  });
});
