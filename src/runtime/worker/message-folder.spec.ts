import { describe, expect, it } from '@jest/globals';
import { asSchema, readUIMessageStream, uiMessageChunkSchema, type UIMessage, type UIMessageChunk } from 'ai';
import * as fc from 'fast-check';
import { operation, toChunks } from '../../../test/support/ui-message-chunks.js';
import { MessageFolder } from './message-folder.js';

/** Makes the reference emit its last state; it does not emit one after every chunk. */
const LAST: UIMessageChunk = { type: 'message-metadata', messageMetadata: { last: true } };

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

function fold(chunks: UIMessageChunk[]): Pick<UIMessage, 'metadata' | 'parts'> {
  const folder = new MessageFolder();
  for (const chunk of chunks) folder.apply(chunk);
  return asJson({ metadata: folder.metadata, parts: folder.parts() });
}

async function read(chunks: UIMessageChunk[]): Promise<Pick<UIMessage, 'metadata' | 'parts'> | undefined> {
  let last: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream: ReadableStream.from(structuredClone(chunks)) })) last = state;
  return last && asJson({ metadata: last.metadata, parts: last.parts });
}

describe('MessageFolder', () => {
  it('produces the same message as readUIMessageStream', async () => {
    const schema = asSchema(uiMessageChunkSchema);
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 80, size: 'max' }), async (operations) => {
        const chunks = [...toChunks(operations), LAST];
        for (const chunk of chunks) expect(await schema.validate?.(chunk)).toMatchObject({ success: true });
        expect(fold(chunks)).toEqual(await read(chunks));
      }),
      { numRuns: 300 },
    );
  });

  it('does not change earlier snapshots', () => {
    const folder = new MessageFolder();
    const call = { toolCallId: 'c1', toolName: 'search', dynamic: true, input: { q: 1 } };
    folder.apply({ type: 'tool-input-available', ...call });
    const snapshot = folder.parts();
    const before = structuredClone(snapshot);
    folder.apply({ type: 'tool-output-available', toolCallId: 'c1', output: 'found', dynamic: true });
    expect(snapshot).toEqual(before);
    expect(folder.parts()[0]).toMatchObject({ state: 'output-available', output: 'found' });
  });

  it('removes the parts of a step that is reset', () => {
    const folder = new MessageFolder();
    folder.apply({ type: 'start', messageId: 'm1', messageMetadata: { taskId: 't1' } });
    folder.apply({ type: 'start-step' });
    folder.apply({ type: 'text-start', id: 'x' });
    folder.apply({ type: 'text-delta', id: 'x', delta: 'half a sen' });
    folder.apply({ type: 'reset-step' });
    expect(folder.parts()).toEqual([{ type: 'step-start' }]);
    expect(folder.metadata).toEqual({ taskId: 't1' });
  });

  it.each<UIMessageChunk>([
    { type: 'text-delta', id: 'x', delta: 'a' },
    { type: 'reasoning-end', id: 'x' },
    { type: 'tool-input-delta', toolCallId: 'x', inputTextDelta: '{' },
    { type: 'tool-output-available', toolCallId: 'x', output: 1 },
    { type: 'tool-approval-response', approvalId: 'x', approved: true },
  ])('rejects a $type chunk without a start', (chunk) => {
    expect(() => new MessageFolder().apply(chunk)).toThrow(
      expect.objectContaining({ name: 'AI_UIMessageStreamError' }),
    );
  });
});
