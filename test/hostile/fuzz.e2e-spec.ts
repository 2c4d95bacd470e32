import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const MAIN = fileURLToPath(new URL('../fuzz/main.ts', import.meta.url));
const IMPORTS = new URL('../fuzz/typescript-imports.mjs', import.meta.url).href;
const REQUESTS = 3_000;
const SEED = 1;
const LIMIT_MS = 540_000;

it(
  `keeps every rule under ${REQUESTS} random requests of seed ${SEED}`,
  async () => {
    const fuzzer = spawn(
      process.execPath,
      ['--import', IMPORTS, MAIN, '--requests', String(REQUESTS), '--seed', String(SEED)],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let output = '';
    for (const stream of [fuzzer.stdout, fuzzer.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const [code] = (await once(fuzzer, 'close')) as [number | null];
    // The output says which request broke which rule, and how to see it again.
    expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' });
    expect(output).toContain('Every rule was kept.');
    expect(Number(/(\d+) requests in/.exec(output)?.[1])).toBeGreaterThanOrEqual(REQUESTS);
  },
  LIMIT_MS,
);
