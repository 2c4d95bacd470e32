import { spawnSync } from 'node:child_process';
import { describe } from '@jest/globals';

/** Whether tests that need Python run. In CI they always do, and fail without Python. */
export const hasPython = spawnSync('python3', ['--version']).status === 0 || process.env['CI'] !== undefined;
if (!hasPython) process.stderr.write('There is no python3. The tests that need it are left out.\n');

/** `describe` for tests of the Python client. */
export const withPython = hasPython ? describe : describe.skip;
