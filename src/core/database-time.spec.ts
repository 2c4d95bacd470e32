import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { databaseNow, readDatabaseTime } from './database-time.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('the time of the database is corrected by what a reading proves, without a small step back', async () => {
  await readDatabaseTime(async () => 1_000_000);
  expect(databaseNow()).toBe(1_000_000);
  jest.advanceTimersByTime(1_000);

  // A slow answer that agrees with the estimate changes nothing.
  await readDatabaseTime(async () => {
    jest.advanceTimersByTime(200);
    return 1_001_150;
  });
  expect(databaseNow()).toBe(1_001_200);

  // The estimate was ahead: it waits.
  await readDatabaseTime(async () => 1_001_160);
  expect(databaseNow()).toBe(1_001_200);
  jest.advanceTimersByTime(100);
  expect(databaseNow()).toBe(1_001_260);

  // It was behind.
  await readDatabaseTime(async () => 1_002_000);
  expect(databaseNow()).toBe(1_002_000);

  // The clock of the database was set back.
  await readDatabaseTime(async () => 1_000_000);
  expect(databaseNow()).toBe(1_000_000);
});
