import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import type { Connection } from '../../../connections/connection.js';
import { AnswerBudget } from '../../../core/answers/answer-budget.js';
import { AnswerRooms } from '../../../core/answers/answer-room.js';
import type { OfferedTools } from '../../../upstreams/catalog/offered-tools.js';
import type { ToolCatalog } from '../../../upstreams/catalog/tool-catalog.js';
import type { UpstreamChannels } from '../../../upstreams/channels/upstream-channels.js';
import type { AnswerBody } from '../../../upstreams/messages/answer-body.js';
import type { OutgoingMessage, UpstreamAnswer } from '../../../upstreams/messages/upstream-channel.js';
import type { ToolPins } from '../../../upstreams/pins/tool-pins.js';
import { SessionTools } from './session-tools.js';

const SIZE = 100_000;
const CONNECTION = { id: 'c', organizationId: 'acme' } as Connection;
const asStream = (bytes: Buffer): AnswerBody => Readable.from([bytes], { objectMode: false });
const asBuffer = (bytes: Buffer): AnswerBody => bytes;

/** Lists one tool with a long description. Returns what is held while the list is recorded, and after that. */
async function list(bodyOf: (bytes: Buffer) => AnswerBody, budget = new AnswerBudget(64 * SIZE)) {
  const tools = [{ name: 'tool', description: 'x'.repeat(SIZE), inputSchema: { type: 'object' } }];
  const channel = {
    postMessage: async ({ id = '' }: OutgoingMessage): Promise<UpstreamAnswer> => {
      const text = JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(id) as string, result: { tools } });
      return { status: 200, contentType: 'application/json', headers: {}, body: bodyOf(Buffer.from(text)) };
    },
  };
  let held = 0;
  const sessions = new SessionTools(
    {} as ToolCatalog,
    { session: async () => channel } as unknown as UpstreamChannels,
    { recordList: async () => void (held = budget.heldBytes) } as unknown as ToolPins,
    { offerOf: (_connection, tool) => tool } as OfferedTools,
    new AnswerRooms(budget),
  );
  const { signal } = new AbortController();
  const found = await sessions.toolsOf(CONNECTION, { key: 'session' }, { signal });
  return { names: [...found.tools.keys()], held, heldAfter: budget.heldBytes };
}

describe('the list of a session with tools of its own', () => {
  it.each([
    ['an HTTP server', asStream],
    ['a program', asBuffer],
  ])('of %s has room until it is recorded', async (_of, bodyOf) => {
    const { names, held, heldAfter } = await list(bodyOf);
    expect(names).toEqual(['tool']);
    expect(held).toBeGreaterThan(2 * SIZE);
    expect(heldAfter).toBe(0);
  });

  it('is refused if there is no room', async () => {
    const budget = new AnswerBudget(SIZE);
    // The largest part of the budget.
    budget.openAnswer({ organization: { id: 'acme' }, callerId: 'other' }).reserve(SIZE);
    await expect(list(asBuffer, budget)).rejects.toMatchObject({ name: 'UpstreamError', kind: 'busy' });
  });
});
