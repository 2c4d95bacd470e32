import { describe, expect, it } from '@jest/globals';
import { type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import * as ai5 from 'ai-5';
import * as ai6 from 'ai-6';
import * as fc from 'fast-check';
import { operation, toChunks } from '../../../test/support/ui-message-chunks.js';
import { OlderChunks } from './frame-form.js';

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

/** What version 5 gets for a chunk that it does not read: its reader would otherwise wait for the call. */
const OF_VERSION_5: Record<string, UIMessageChunk> = {
  'tool-output-denied': { ...CALL, type: 'tool-output-error', errorText: 'The call was not approved.', dynamic: true },
};

const newReader = (version: number): OlderChunks =>
  OlderChunks.for(version) ?? raise('The version needs nothing translated.');

type ChunkSchema = () => { validate?(chunk: unknown): PromiseLike<{ success: boolean }> | { success: boolean } };

async function isRead(schema: ChunkSchema, chunk: unknown) {
  return (await schema().validate?.(chunk))?.success === true;
}

describe.each([
  [5, ai5],
  [6, ai6 as unknown as typeof ai5],
])('chunks for ai %i', (version, sdk) => {
  it.each(Object.entries(EACH_TYPE))('of the type %s are sent exactly if it reads them', async (type, fields) => {
    const chunk = { type, ...fields };
    expect(await isRead(uiMessageChunkSchema, chunk)).toBe(true);
    const sent = newReader(version).translate(JSON.stringify(chunk));
    const instead = version === 5 ? OF_VERSION_5[type] : undefined;
    const expected = (await isRead(sdk.uiMessageChunkSchema, chunk)) ? chunk : instead;
    expect(sent.map((frame) => JSON.parse(frame) as unknown)).toEqual(expected === undefined ? [] : [expected]);
  });

  it('make a message there, whatever is repeated and approved', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), async (operations) => {
        const older = newReader(version);
        // The service finishes a step when its texts have ended, and all its tools are dynamic.
        const given = toChunks(operations, 'm')
          .filter(({ type }) => type !== 'finish-step')
          .map((chunk) => ('toolCallId' in chunk ? { ...chunk, dynamic: true } : chunk) as UIMessageChunk);
        const sent = [BEGIN, ...given].flatMap((chunk) => older.translate(JSON.stringify(chunk)));
        const chunks = sent.map((frame) => JSON.parse(frame) as ai5.UIMessageChunk);
        for (const chunk of chunks) expect(await isRead(sdk.uiMessageChunkSchema, chunk)).toBe(true);
        const errors: unknown[] = [];
        const stream = ReadableStream.from(chunks) as ReadableStream<ai5.UIMessageChunk>;
        const reading = sdk.readUIMessageStream({ stream, onError: (error) => errors.push(error) });
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
    const older = newReader(version);
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
    for (const chunk of closing) expect(await isRead(sdk.uiMessageChunkSchema, chunk)).toBe(true);
    expect(send({ type: 'reset-step' })).toEqual([]);
  });
});

function raise(message: string): never {
  throw new Error(message);
}
