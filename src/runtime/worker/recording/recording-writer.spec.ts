import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ModelRecordings, SealedRecording } from '../../runs/records/model-recordings.js';
import { RecordingWriter } from './recording-writer.js';

/** What the log says of lost recordings. */
let lost: unknown[];

beforeEach(() => {
  lost = [];
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((facts: unknown) => void lost.push(facts));
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

/** Writes three recordings. The first is a batch of its own, because nothing is being written before it. */
function writeThree(store: (batch: readonly SealedRecording[]) => Promise<void>): RecordingWriter {
  const seal = (of: object, content: string): object => ({ ...of, id: content, content });
  const writer = new RecordingWriter({ seal, store } as unknown as ModelRecordings);
  for (const ordinal of [1, 2, 3]) {
    writer.write({ runId: 'run', attempt: 1, ordinal, recording: 'full' }, () => `call ${ordinal}`);
  }
  return writer;
}

describe('RecordingWriter', () => {
  it('stores in order, and what waits as one batch', async () => {
    const batches: string[][] = [];
    const writer = writeThree(async (batch) => void batches.push(batch.map(({ content }) => content)));
    await writer.onApplicationShutdown();
    expect(batches).toEqual([['call 1'], ['call 2', 'call 3']]);
    expect(lost).toEqual([]);
  });

  it('goes on after a batch that the database has refused', async () => {
    const stored: string[] = [];
    const writer = writeThree(async (batch) => {
      if (batch[0]?.ordinal === 1) throw new Error('refused');
      stored.push(...batch.map(({ content }) => content));
    });
    await writer.onApplicationShutdown();
    expect(stored).toEqual(['call 2', 'call 3']);
    expect(lost).toEqual([{ recordings: 1, reason: 'Error' }]);
  });

  it('counts what is being written among what is lost at the shutdown', async () => {
    jest.useFakeTimers();
    const writer = writeThree(() => new Promise<void>(() => undefined));
    const shutDown = writer.onApplicationShutdown();
    await jest.advanceTimersByTimeAsync(60_000);
    await shutDown;
    expect(lost).toEqual([{ recordings: 3, reason: 'shutdown' }]);
  });
});
