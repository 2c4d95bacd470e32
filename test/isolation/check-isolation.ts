import { expect } from '@jest/globals';
import { DatabaseError } from 'pg';
import { findTraces, leaveTraces } from './traces.js';

/** The test of both fixtures: it finds nothing of the other, has the classes of the packages, and leaves traces. */
export function checkIsolation(): void {
  expect(findTraces()).toStrictEqual({
    global: undefined,
    environment: undefined,
    time: false,
    spy: false,
    entities: 0,
    validated: false,
    transformed: 0,
  });
  expect(new DatabaseError('m', 1, 'error')).toBeInstanceOf(Error);
  // isolation.e2e-spec.ts reads it.
  process.stderr.write(`\nsuites of this copy: ${leaveTraces()}\n`);
  expect(findTraces()).toMatchObject({ global: 'left', time: true, spy: true, entities: 1, transformed: 1 });
}
