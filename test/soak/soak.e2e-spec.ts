import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const PROGRAM = fileURLToPath(new URL('main.mjs', import.meta.url));
const SHORT = ['--sessions', '240', '--hang-ups', '240', '--edits', '40', '--seconds', '5'];
const PATIENCE_MS = 300_000;

/** The long form is `npm run test:soak`. */
it(
  'the service holds what it held before, after sessions that nobody ended, clients that hung up, edits and runs',
  async () => {
    const child = spawn(process.execPath, [PROGRAM, ...SHORT], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const [code] = await once(child, 'close');
    process.stdout.write(output);
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('came back') });
  },
  PATIENCE_MS,
);
