import { describe, expect, it } from '@jest/globals';
import { sentenceFor } from '../../../boot/start-failure.js';
import { DatabaseVersionError, requireVersion } from './database-version.js';

describe('requireVersion', () => {
  it.each([150_000, 150_004, 160_010, 180_000])('accepts %i', (version) => {
    expect(() => requireVersion(version)).not.toThrow();
  });

  it.each([
    [149_999, 14],
    [130_012, 13],
    [90_624, 9],
  ])('refuses %i, and the start says so in a sentence', (version, major) => {
    const attempt = (): void => requireVersion(version);
    expect(attempt).toThrow(DatabaseVersionError);
    const thrown = (() => {
      try {
        return attempt();
      } catch (error) {
        return error;
      }
    })();
    expect(sentenceFor(thrown)).toBe(
      `The database of DATABASE_URL is PostgreSQL ${major}; Signalbox requires PostgreSQL 15 or later.`,
    );
  });
});
