import { describe, expect, it } from '@jest/globals';
import type { Connection } from '../../connections/connection.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { PinState } from '../pins/pin-state.js';
import type { ToolPins } from '../pins/tool-pins.js';
import { OfferedTools } from './offered-tools.js';
import { toToolList } from './tool-list.js';

const toolNamed = (name: string): UpstreamTool => ({ name, inputSchema: { type: 'object' } });
const WARNED = { id: 'c1', pin: 'warn', pinEpoch: 1 } as Connection;

/** What a connection that approves nothing offers. */
function offered() {
  const recorded: number[] = [];
  const made = new OfferedTools({
    stateOf: () => new PinState(1, true, []),
    recordList: async (_connection: Connection, tools: readonly UpstreamTool[]) => void recorded.push(tools.length),
  } as unknown as ToolPins);
  return { made, recorded };
}

describe('OfferedTools', () => {
  it('offers and records the first 10,000 tools of a page', async () => {
    const { made, recorded } = offered();
    const page = await made.pageOf(WARNED);
    expect(page?.offer(Array.from({ length: 10_001 }, (_, index) => toolNamed(`t${index}`)))).toHaveLength(10_000);
    await page?.record();
    expect(recorded).toEqual([10_000]);
  });

  it('does not offer a tool whose name is too long to be recorded', async () => {
    const { made } = offered();
    const tools = [toolNamed('x'.repeat(1_023)), toolNamed('y'.repeat(1_022))];
    const marked = [{ name: tools[1]?.name, _meta: { 'mcp.service': { pin: 'new' } } }];
    expect((await made.pageOf(WARNED))?.offer(tools)).toMatchObject(marked);
    const list = await made.offerOf(WARNED, toToolList(tools, 0));
    expect([...list.tools.values()].map(({ definition }) => definition)).toMatchObject(marked);
  });
});
