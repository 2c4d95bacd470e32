import { describe, expect, it } from '@jest/globals';
import { TimeSlices } from '../../core/time-slices.js';
import type { ToolPlace } from '../composition/composition.js';
import { ToolIndex } from './tool-search.js';

const place = (name: string, definition: object = {}): ToolPlace =>
  ({ name, tool: { definition: { name, inputSchema: { type: 'object' }, ...definition } } }) as unknown as ToolPlace;

const anyOne = (): boolean => true;
const slices = (): TimeSlices => new TimeSlices('organization');
const indexOf = (places: readonly ToolPlace[]): Promise<ToolIndex> => ToolIndex.of(places, slices());

describe('an index of tools', () => {
  it('finds by names, titles, descriptions and arguments, despite a wrong letter', async () => {
    const index = await indexOf([
      place('createIssue', { description: 'Opens a ticket.' }),
      place('list_files', { title: 'Directory', inputSchema: { type: 'object', properties: { folderPath: {} } } }),
      place('other'),
    ]);
    const find = (query: string) => index.find(query, 5, anyOne, slices());
    for (const query of ['issue', 'create', 'ticket', 'tiket', 'ISSUES'])
      expect(await find(query)).toContain('createIssue');
    for (const query of ['directory', 'folder', 'file']) expect(await find(query)).toEqual(['list_files']);
    expect(await find('the of')).toEqual([]);
    expect(await index.find('issue', 5, (name) => name !== 'createIssue', slices())).toEqual([]);
  });

  it.each([null, 5, {}, ['x']])('takes %j for no text', async (text) => {
    const index = await indexOf([place('odd', { title: text, description: text, inputSchema: text }), place('even')]);
    expect(await index.find('odd even', 5, anyOne, slices())).toEqual(expect.arrayContaining(['odd', 'even']));
  });

  it('keeps a bounded number of words, and finds tools beyond them by their names', async () => {
    const word = (n: number): string => `w${n.toString(36).padStart(7, 'q')}`;
    const tools = Array.from({ length: 2_000 }, (_, n) =>
      place(`tool${word(n)}`, { description: Array.from({ length: 250 }, (_w, i) => word(n * 250 + i)).join(' ') }),
    );
    const index = await indexOf(tools);
    expect(index.terms).toBeLessThan(110_000);
    expect(await index.find(`tool${word(1_999)}`, 1, anyOne, slices())).toEqual([`tool${word(1_999)}`]);
    // Words that are as long as a query can be, and many.
    expect(await index.find('x'.repeat(500), 5, anyOne, slices())).toEqual([]);
  });
});
