import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';

const read = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

describe('docs/extending.md', () => {
  it('shows code that the tests run', async () => {
    const blocks = [...(await read('docs/extending.md')).matchAll(/```ts\n(?:\/\/ (\S+)\n)?([^]*?)```/g)];
    expect(blocks.length).toBeGreaterThan(0);
    for (const [, path = '', code = ''] of blocks) expect(await read(path)).toContain(code.trim());
  });
});
