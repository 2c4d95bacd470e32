import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { runProgram } from '../support/program.js';

const PROGRAM = fileURLToPath(new URL('main.mjs', import.meta.url));
const SHORT = ['--sessions', '240', '--hang-ups', '240', '--edits', '40', '--seconds', '5'];
const PATIENCE_MS = 300_000;

/** The long form is `npm run test:soak`. */
it(
  'the service holds what it held before, after sessions that nobody ended, clients that hung up, edits and runs',
  async () => {
    const { end, output } = await runProgram(process.execPath, [PROGRAM, ...SHORT]);
    process.stdout.write(output);
    expect({ end, output }).toEqual({ end: 0, output: expect.stringContaining('came back') });
  },
  PATIENCE_MS,
);
