import { describe, expect, it } from '@jest/globals';
import { type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import * as ai6 from 'ai-6';
import * as fc from 'fast-check';
import { operation, toChunks } from '../../../test/support/ui-message-chunks.js';
import { OlderChunks } from './older-chunks.js';

type ChunkType = Exclude<UIMessageChunk['type'], `data-${string}`>;

const CALL = { toolCallId: 'c' };
const NAMED_CALL = { ...CALL, toolName: 't', dynamic: true };

/** One of each type that `ai` has; the compiler reports one that is missing. */
const EACH_TYPE: { [T in ChunkType]: Omit<Extract<UIMessageChunk, { type: T }>, 'type'> } = {
  start: { messageId: 'm' },
  finish: { finishReason: 'stop' },
  abort: { reason: 'r' },
  error: { errorText: 'e' },
  'message-metadata': { messageMetadata: {} },
  'start-step': {},
  'finish-step': {},
  'reset-step': {},
  'text-start': { id: '1' },
  'text-delta': { id: '1', delta: 'd' },
  'text-end': { id: '1' },
  'reasoning-start': { id: '1' },
  'reasoning-delta': { id: '1', delta: 'd' },
  'reasoning-end': { id: '1' },
  'tool-input-start': NAMED_CALL,
  'tool-input-delta': { ...CALL, inputTextDelta: '{' },
  'tool-input-available': { ...NAMED_CALL, input: {} },
  'tool-input-error': { ...NAMED_CALL, input: {}, errorText: 'e' },
  'tool-approval-request': { ...CALL, approvalId: 'a' },
  'tool-approval-response': { approvalId: 'a', approved: true },
  'tool-output-available': { ...CALL, output: {} },
  'tool-output-error': { ...CALL, errorText: 'e' },
  'tool-output-denied': CALL,
  'source-url': { sourceId: 's', url: 'https://example.com' },
  'source-document': { sourceId: 's', mediaType: 'text/plain', title: 't' },
  file: { url: 'https://example.com', mediaType: 'text/plain' },
  'reasoning-file': { url: 'https://example.com', mediaType: 'text/plain' },
  custom: { kind: 'k.v' },
  'steering-message': { id: 's', parts: [] },
};

const BEGIN: UIMessageChunk = { type: 'start', messageId: 'm' };

const newReader = (): OlderChunks => OlderChunks.for(6) ?? raise('Version 6 needs nothing translated.');

async function isRead(schema: typeof uiMessageChunkSchema | typeof ai6.uiMessageChunkSchema, chunk: unknown) {
  return (await schema().validate?.(chunk))?.success === true;
}

describe('chunks for ai 6', () => {
  it.each(Object.entries(EACH_TYPE))('of the type %s are sent exactly if it reads them', async (type, fields) => {
    const chunk = { type, ...fields };
    expect(await isRead(uiMessageChunkSchema, chunk)).toBe(true);
    const sent = newReader().translate(JSON.stringify(chunk));
    expect(sent).toEqual((await isRead(ai6.uiMessageChunkSchema, chunk)) ? [JSON.stringify(chunk)] : []);
  });

  it('make a message there, whatever is repeated and approved', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const older = newReader();
        // The service finishes a step when its texts have ended.
        const given = toChunks(operations, 'm').filter(({ type }) => type !== 'finish-step');
        const sent = [BEGIN, ...given].flatMap((chunk) => older.translate(JSON.stringify(chunk)));
        const chunks = sent.map((frame) => JSON.parse(frame) as ai6.UIMessageChunk);
        for (const chunk of chunks) expect(await isRead(ai6.uiMessageChunkSchema, chunk)).toBe(true);
        const errors: unknown[] = [];
        const stream = ReadableStream.from(chunks) as ReadableStream<ai6.UIMessageChunk>;
        const reading = ai6.readUIMessageStream({ stream, onError: (error) => errors.push(error) });
        for await (const _ of reading);
        // The reader reports each `error` chunk, and would report one that it cannot apply.
        expect(errors).toHaveLength(chunks.filter(({ type }) => type === 'error').length);
      }),
    );
  });

  it.each([undefined, 7, 8])('are no matter for version %s', (version) => {
    expect(OlderChunks.for(version)).toBeUndefined();
  });

  it('close the open parts of a step that is repeated', async () => {
    const older = newReader();
    const send = (...chunks: UIMessageChunk[]) =>
      chunks.flatMap((chunk) => older.translate(JSON.stringify(chunk))).map((sent) => JSON.parse(sent) as unknown);
    const tool = { toolName: 'send', dynamic: true };
    send(
      { type: 'start-step' },
      { type: 'tool-input-available', toolCallId: 'earlier', input: {}, ...tool },
      { type: 'start-step' },
      { type: 'reasoning-start', id: 'r' },
      { type: 'text-start', id: 'done' },
      { type: 'text-end', id: 'done' },
      { type: 'text-start', id: 'open' },
      { type: 'tool-input-start', toolCallId: 'begun', ...tool },
      { type: 'tool-input-available', toolCallId: 'called', input: {}, ...tool },
      { type: 'tool-input-available', toolCallId: 'answered', input: {}, ...tool },
      { type: 'tool-output-available', toolCallId: 'answered', output: 1 },
    );
    const closing = send({ type: 'reset-step' });
    expect(closing).toMatchObject([
      { type: 'reasoning-end', id: 'r' },
      { type: 'text-end', id: 'open' },
      { type: 'tool-output-error', toolCallId: 'begun' },
      { type: 'tool-output-error', toolCallId: 'called' },
    ]);
    for (const chunk of closing) expect(await isRead(ai6.uiMessageChunkSchema, chunk)).toBe(true);
    expect(send({ type: 'reset-step' })).toEqual([]);
  });
});

function raise(message: string): never {
  throw new Error(message);
}
