import { describe, expect, it } from '@jest/globals';
import { by } from '../../../test/support/run-event-probes.js';
import { ScriptedRunEventStore } from '../../../test/support/scripted-run-event-store.js';
import {
  STREAM_START,
  EventStoreClosedError,
  StreamDivergedError,
  StreamExpiredError,
  type FrameBatch,
} from './run-event-store.js';
import { TopicReader } from './topic-reader.js';

const topic = { organizationId: 'o', threadId: 't' };

function batch(first: number, last: number, end = false, runId = 'run', size = 0, epoch = 'e1'): FrameBatch {
  const frames = Array.from({ length: last - first + 1 }, (_, i) => JSON.stringify(`${first + i}${'.'.repeat(size)}`));
  return { runId, epoch, first, frames, end };
}

async function reading() {
  const store = new ScriptedRunEventStore();
  await store.open(topic, 'run', by(1));
  const reader = await TopicReader.open(store, topic);
  /** Stores a batch and signals it. */
  const publish = async (one: FrameBatch, as: 'batch' | 'hint' | 'silence' = 'batch'): Promise<void> => {
    await store.append(topic, one, 1);
    if (as !== 'silence') {
      store.signal(as === 'batch' ? { type: 'batch', ...one } : { type: 'hint', runId: one.runId });
    }
  };
  return { store, reader, publish };
}

/** The numbers of all frames, read as the live signals arrive. */
async function numbersOf(batches: AsyncGenerator<FrameBatch>): Promise<number[]> {
  const seen: number[] = [];
  for await (const { first, frames } of batches) {
    seen.push(...frames.map((_, i) => first + i));
  }
  return seen;
}

const tick = (): Promise<void> => new Promise(setImmediate);

describe('TopicReader.follow', () => {
  it('replays stored frames, then tails live ones without reading the store again', async () => {
    const { store, reader, publish } = await reading();
    await publish(batch(1, 3), 'silence');
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    await publish(batch(4, 4));
    await publish(batch(5, 6, true));
    expect(await seen).toEqual([1, 2, 3, 4, 5, 6]);
    expect(store.reads).toBe(1);
  });

  it('does not read the store when the first frames are buffered', async () => {
    const { store, reader, publish } = await reading();
    const next = reader.nextRun(() => false);
    await publish(batch(1, 2));
    expect(await next).toEqual({ runId: 'run', follows: undefined });
    await publish(batch(3, 3, true));
    expect(await numbersOf(reader.follow('run', STREAM_START))).toEqual([1, 2, 3]);
    expect(store.reads).toBe(0);
  });

  it('continues after a frame in the middle of a batch', async () => {
    const { reader, publish } = await reading();
    await publish(batch(1, 5, true));
    expect(await numbersOf(reader.follow('run', { n: 3, epoch: 'e1' }))).toEqual([4, 5]);
    expect(await numbersOf(reader.follow('run', { n: 5, epoch: 'e1' }))).toEqual([]);
  });

  it('detects that the store has lost frames that the reader has', async () => {
    const { store, reader, publish } = await reading();
    await publish(batch(1, 3));
    await expect(numbersOf(reader.follow('run', { n: 5, epoch: 'e1' }))).rejects.toThrow(StreamDivergedError);
    await expect(numbersOf(reader.follow('run', { n: 3, epoch: 'e0' }))).rejects.toThrow(StreamDivergedError);

    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    // Signalled but not stored: the next writer reuses the numbers.
    store.signal({ type: 'batch', ...batch(4, 6) });
    await tick();
    await publish(batch(4, 8, false, 'run', 0, 'e2'));
    await expect(seen).rejects.toThrow(StreamDivergedError);
  });

  it('continues with another writer whose frames follow', async () => {
    const { store, reader, publish } = await reading();
    await publish(batch(1, 3));
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    await publish(batch(4, 5, false, 'run', 0, 'e2'));
    await publish(batch(6, 7, true, 'run', 0, 'e2'));
    expect(await seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(store.reads).toBe(1);
  });

  it('drops live frames that it also reads from the store', async () => {
    const { store, reader, publish } = await reading();
    await publish(batch(1, 2), 'silence');
    const gate = Promise.withResolvers<void>();
    store.gate = gate.promise;
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    store.gate = Promise.resolve();
    await publish(batch(3, 4));
    gate.resolve();
    await tick();
    await publish(batch(5, 5, true));
    expect(await seen).toEqual([1, 2, 3, 4, 5]);
  });

  it.each([
    ['a hint', 'hint' as const],
    ['a gap', 'silence' as const],
  ])('reads the store after %s', async (_, as) => {
    const { reader, publish } = await reading();
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    await publish(batch(1, 2), as);
    await publish(batch(3, 4));
    await tick();
    await publish(batch(5, 5, true), 'hint');
    expect(await seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('reads the store after a resync', async () => {
    const { store, reader, publish } = await reading();
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    await publish(batch(1, 3, true), 'silence');
    store.signal({ type: 'resync' });
    expect(await seen).toEqual([1, 2, 3]);
  });

  it('bounds its memory for a slow consumer without losing frames', async () => {
    const { store, reader, publish } = await reading();
    const stream = reader.follow('run', STREAM_START);
    await publish(batch(1, 1));
    expect((await stream.next()).value).toMatchObject({ first: 1 });
    for (let n = 2; n <= 20; n++) {
      await publish(batch(n, n, n === 20, 'run', 50_000));
    }
    expect(await numbersOf(stream)).toEqual(Array.from({ length: 19 }, (_, i) => i + 2));
    expect(store.reads).toBe(1);
  });

  it('retries a failed read', async () => {
    const { store, reader, publish } = await reading();
    await publish(batch(1, 2, true), 'silence');
    store.failures.push(new Error('connection lost'));
    expect(await numbersOf(reader.follow('run', STREAM_START))).toEqual([1, 2]);
  });

  it('distinguishes a queued run from an expired one', async () => {
    const { store, reader, publish } = await reading();
    store.known = false;
    await expect(numbersOf(reader.follow('run', STREAM_START))).rejects.toThrow(StreamExpiredError);
    const seen = numbersOf(reader.follow('run', STREAM_START, { awaitStart: true }));
    await tick();
    store.known = true;
    await publish(batch(1, 1, true));
    expect(await seen).toEqual([1]);
  });

  it('rejects with the abort reason, also while the store fails', async () => {
    const { store, reader } = await reading();
    const leaving = new AbortController();
    const waiting = numbersOf(reader.follow('run', STREAM_START, { signal: leaving.signal }));
    await tick();
    leaving.abort(new Error('left'));
    await expect(waiting).rejects.toThrow('left');

    const again = new AbortController();
    store.failures.push(...Array.from({ length: 10 }, () => new Error('connection lost')));
    const failing = numbersOf(reader.follow('run', STREAM_START, { signal: again.signal }));
    await tick();
    again.abort(new Error('left again'));
    await expect(failing).rejects.toThrow('left again');
  });

  it('ends when the reader is closed', async () => {
    const { store, reader } = await reading();
    const waiting = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    reader.close();
    await expect(waiting).rejects.toThrow(EventStoreClosedError);
    expect(store.subscribers).toBe(0);
  });
});

describe('TopicReader.nextRun', () => {
  it('skips handled runs', async () => {
    const { store, reader } = await reading();
    store.signal({ type: 'batch', ...batch(1, 1, true, 'old') });
    const next = reader.nextRun((runId) => runId === 'old');
    await tick();
    store.signal({ type: 'hint', runId: 'old' });
    store.signal({ type: 'hint', runId: 'new' });
    expect(await next).toEqual({ runId: 'new', follows: undefined });
  });

  it('returns resync once, also after a resync during a follow', async () => {
    const { store, reader, publish } = await reading();
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    await publish(batch(1, 1, true), 'silence');
    store.signal({ type: 'resync' });
    await seen;
    expect(await reader.nextRun(() => false)).toBe('resync');
    const next = reader.nextRun(() => false);
    reader.close();
    await expect(next).rejects.toThrow('closed');
  });

  it('records a run that starts while another is followed, without keeping its frames', async () => {
    const { store, reader, publish } = await reading();
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    store.signal({ type: 'batch', ...batch(1, 1, false, 'next') });
    await publish(batch(1, 1, true));
    await seen;
    expect(await reader.nextRun((runId) => runId === 'run')).toEqual({ runId: 'next', follows: undefined });
  });

  it('returns the preceding run, also when the frames were not kept', async () => {
    const { store, reader, publish } = await reading();
    const seen = numbersOf(reader.follow('run', STREAM_START));
    await tick();
    store.signal({ type: 'hint', runId: 'next' });
    store.signal({ type: 'batch', follows: 'run', ...batch(1, 1, false, 'next') });
    store.signal({ type: 'batch', ...batch(2, 2, false, 'next') });
    await publish(batch(1, 1, true));
    await seen;
    expect(await reader.nextRun((runId) => runId === 'run')).toEqual({ runId: 'next', follows: 'run' });
  });
});
