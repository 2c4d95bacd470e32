import { describe, expect, it } from '@jest/globals';
import type { Tool } from '@modelcontextprotocol/client';
import { collectTools, type ToolPage } from './tool-listing.js';
import { UpstreamMisbehaviour } from './upstream-error.js';

function tool(name: string, description?: string): Tool {
  return { name, inputSchema: { type: 'object' }, ...(description !== undefined && { description }) };
}

/** Serves pages by cursor; the first page has the cursor ''. */
function pages(byCursor: Record<string, ToolPage>): (cursor: string | undefined) => Promise<ToolPage> {
  return async (cursor) => byCursor[cursor ?? ''] ?? { tools: [] };
}

describe('collectTools', () => {
  it('follows the cursor to the last page', async () => {
    const listed = await collectTools(
      pages({
        '': { tools: [tool('a')], nextCursor: '2' },
        '2': { tools: [tool('b')], nextCursor: '3' },
        '3': { tools: [tool('c')] },
      }),
    );
    expect(listed.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('keeps the first of two tools with one name', async () => {
    const listed = await collectTools(pages({ '': { tools: [tool('a', 'first'), tool('a', 'second')] } }));
    expect(listed).toEqual([tool('a', 'first')]);
  });

  it('rejects circular cursors', async () => {
    const circle = pages({
      '': { tools: [tool('a')], nextCursor: 'x' },
      x: { tools: [], nextCursor: 'y' },
      y: { tools: [], nextCursor: 'x' },
    });
    await expect(collectTools(circle)).rejects.toThrow('repeats a page');
  });

  it('rejects an endless list', async () => {
    let page = 0;
    await expect(collectTools(async () => ({ tools: [], nextCursor: String(page++) }))).rejects.toThrow('1000 pages');
    expect(page).toBeLessThan(1_010);
  });

  it('bounds the number of tools', async () => {
    const tools = Array.from({ length: 10_001 }, (_, index) => tool(`t${index}`));
    await expect(collectTools(pages({ '': { tools } }))).rejects.toBeInstanceOf(UpstreamMisbehaviour);
    await expect(collectTools(pages({ '': { tools: tools.slice(1) } }))).resolves.toHaveLength(10_000);
  });

  it('bounds the size of all cursors', async () => {
    const text = 'x'.repeat(5 * 1024 * 1024);
    let page = 0;
    await expect(collectTools(async () => ({ tools: [], nextCursor: `${text}${page++}` }))).rejects.toThrow(
      'more text or values',
    );
    expect(page).toBe(2);
  });

  it('bounds the size of the list over all pages', async () => {
    const text = 'x'.repeat(5 * 1024 * 1024);
    let page = 0;
    await expect(
      collectTools(async () => ({ tools: [tool(`t${page++}`, text)], nextCursor: String(page) })),
    ).rejects.toThrow('more text or values');
    expect(page).toBe(2);
  });

  it('bounds the cost of parsing the list over all pages', async () => {
    let page = 0;
    const heavy = (name: string) => ({
      ...tool(name),
      inputSchema: { type: 'object' as const, x: Array.from({ length: 100_000 }, () => ({})) },
    });
    await expect(
      collectTools(async () => ({ tools: [heavy(`t${page++}`)], nextCursor: String(page) })),
    ).rejects.toThrow('more text or values');
    expect(page).toBe(2);
  });
});
