import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { by } from '../../../test/support/run-event-probes.js';
import { ScriptedRunEventStore } from '../../../test/support/scripted-run-event-store.js';
import { StaleWriterError } from './run-event-store.js';
import { type PublisherOptions, RunEventPublisher } from './run-event-publisher.js';

const topic = { organizationId: 'o', threadId: 't' };

function delta(text: string) {
  return { type: 'text-delta', id: '1', delta: text } as const;
}

async function publishing(options?: PublisherOptions) {
  const store = new ScriptedRunEventStore();
  const publisher = await RunEventPublisher.open(store, topic, 'run', by(1), options);
  return { store, publisher };
}

/** Blocks the store's writes until the returned function is called. */
function hold(store: ScriptedRunEventStore): () => void {
  const gate = Promise.withResolvers<void>();
  store.gate = gate.promise;
  return gate.resolve;
}

describe('RunEventPublisher', () => {
  it('writes the chunks of a turn when idle and batches chunks pushed during a write', async () => {
    const { store, publisher } = await publishing();
    const release = hold(store);
    for (const text of ['a', 'b']) await publisher.push(delta(text));
    await nextTurn();
    for (const text of ['c', 'd', 'e']) await publisher.push(delta(text));
    release();
    await publisher.flush();
    await publisher.push(delta('f'));
    await publisher.flush();
    await publisher.end();
    expect(store.appended.map(({ first, frames, end }) => [first, frames.length, end])).toEqual([
      [1, 2, false],
      [3, 3, false],
      [6, 1, false],
      [7, 0, true],
    ]);
    expect(store.appended[0]?.frames[0]).toBe('{"type":"text-delta","id":"1","delta":"a"}');
  });

  it('marks the last queued frames as the end', async () => {
    const { store, publisher } = await publishing();
    void publisher.push(delta('a'));
    void publisher.push(delta('b'));
    await publisher.end();
    await publisher.end();
    expect(store.appended.map(({ frames, end }) => [frames.length, end])).toEqual([[2, true]]);
    await expect(publisher.push(delta('c'))).rejects.toThrow('has ended');
  });

  it('writes the start of a step with what follows', async () => {
    const { store, publisher } = await publishing();
    await publisher.push({ type: 'start-step' });
    await nextTurn();
    await nextTurn();
    expect(store.appended).toEqual([]);
    await publisher.push(delta('a'));
    await publisher.flush();
    await publisher.push({ type: 'start-step' });
    await publisher.flush();
    await publisher.push({ type: 'start-step' });
    await publisher.end();
    expect(store.appended.map(({ first, frames, end }) => [first, frames.length, end])).toEqual([
      [1, 2, false],
      [3, 1, false],
      [4, 1, true],
    ]);
  });

  it('limits a batch by frames and bytes, and sends a larger frame alone', async () => {
    const { store, publisher } = await publishing();
    const release = hold(store);
    void publisher.push(delta('first'));
    await nextTurn();
    for (let i = 0; i < 300; i++) {
      void publisher.push(delta('x'));
    }
    void publisher.push(delta('y'.repeat(40_000)));
    void publisher.push(delta('z'.repeat(40_000)));
    void publisher.push(delta('w'.repeat(100_000)));
    release();
    await publisher.end();
    expect(store.appended.map(({ frames }) => frames.length)).toEqual([1, 256, 45, 1, 1]);
  });

  it('applies backpressure while more than 1 MiB is queued', async () => {
    const { store, publisher } = await publishing();
    const release = hold(store);
    await publisher.push(delta('a'.repeat(600_000)));
    let passed = false;
    await nextTurn();
    const waiting = publisher.push(delta('b'.repeat(600_000))).then(() => (passed = true));
    await nextTurn();
    expect(passed).toBe(false);
    release();
    await waiting;
    await publisher.end();
    expect(store.appended).toHaveLength(2);
  });

  it('retries a write after a transient failure', async () => {
    const { store, publisher } = await publishing();
    store.failures.push(new Error('connection lost'), new Error('connection lost'));
    await publisher.push(delta('a'));
    await publisher.flush();
    await publisher.end();
    expect(store.appended.map(({ first }) => first)).toEqual([1, 2]);
  });

  it('gives up after its time limit and rejects every later call', async () => {
    const { store, publisher } = await publishing({ giveUpAfterMs: 0 });
    store.failures.push(new Error('connection lost'));
    await publisher.push(delta('a'));
    await expect(publisher.flush()).rejects.toThrow('connection lost');
    await expect(publisher.push(delta('b'))).rejects.toThrow('connection lost');
    await expect(publisher.end()).rejects.toThrow('connection lost');
    expect(store.appended).toEqual([]);
  });

  it('reports a takeover once and rejects waiting pushes', async () => {
    let told = 0;
    const { store, publisher } = await publishing({ onStale: () => told++ });
    const release = hold(store);
    void publisher.push(delta('a'));
    await nextTurn();
    const waiting = publisher.push(delta('b'.repeat(1_100_000)));
    await store.open(topic, 'run', by(2));
    release();
    await expect(waiting).rejects.toThrow(StaleWriterError);
    await expect(publisher.push(delta('c'))).rejects.toThrow(StaleWriterError);
    expect(told).toBe(1);
  });

  it('claims a new stream with its first frames and appends the others', async () => {
    const store = new ScriptedRunEventStore();
    const publisher = RunEventPublisher.start(store, topic, 'run', by(1), 'before');
    expect(store.started).toEqual([]);
    store.failures.push(new Error('connection lost'));
    await publisher.push(delta('a'));
    await publisher.push(delta('b'));
    await publisher.end();
    // The first call failed and was retried.
    expect(store.started).toEqual([
      { runId: 'run', follows: 'before' },
      { runId: 'run', follows: 'before' },
    ]);
    expect(store.appended.map(({ first, frames, end }) => [first, frames.length, end])).toEqual([
      [1, 1, false],
      [2, 1, true],
    ]);
  });

  it('detects at the first write that a stream is not new', async () => {
    let told = 0;
    const { store, publisher } = await publishing();
    await publisher.push(delta('a'));
    await publisher.flush();
    await store.open(topic, 'run', by(2));
    const late = RunEventPublisher.start(store, topic, 'run', by(1), null, { onStale: () => told++ });
    await late.push(delta('b'));
    await expect(late.flush()).rejects.toThrow(StaleWriterError);
    expect(told).toBe(1);
  });

  it('rejects opening a stream below the fence', async () => {
    const { store } = await publishing();
    await store.open(topic, 'run', by(3));
    await expect(RunEventPublisher.open(store, topic, 'run', by(2))).rejects.toThrow(StaleWriterError);
  });
});
