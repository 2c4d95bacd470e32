import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { outputOf } from '../support/program.js';

const MAIN = fileURLToPath(new URL('../fuzz/main.ts', import.meta.url));
const IMPORTS = new URL('../fuzz/typescript-imports.mjs', import.meta.url).href;
const REQUESTS = 3_000;
const SEED = 1;
const LIMIT_MS = 540_000;

it(
  `keeps every rule under ${REQUESTS} random requests of seed ${SEED}`,
  async () => {
    const args = ['--import', IMPORTS, MAIN, '--requests', String(REQUESTS), '--seed', String(SEED)];
    // If it fails, its output says which request broke which rule, and how to send it again.
    const output = await outputOf(process.execPath, args);
    expect(output).toContain('Every rule was kept.');
    expect(Number(/(\d+) requests in/.exec(output)?.[1])).toBeGreaterThanOrEqual(REQUESTS);
  },
  LIMIT_MS,
);
