import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { UIMessageChunk } from 'ai';
import {
  type FramePosition,
  STREAM_START,
  type FrameBatch,
  type RunEventStore,
  type RunSignal,
  type RunTopic,
  type StreamWriter,
} from '../../src/runtime/events/run-event-store.js';
import { type FollowOptions, TopicReader } from '../../src/runtime/events/topic-reader.js';

export function newRun(): { topic: RunTopic; runId: string } {
  return { topic: { organizationId: randomUUID(), threadId: `thread_${randomUUID()}` }, runId: randomUUID() };
}

export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i);
}

/** A chunk that knows its number, about `size` characters long. */
export function chunk(n: number, size = 10): UIMessageChunk {
  return { type: 'text-delta', id: String(n), delta: 'ü'.repeat(size) };
}

/** The epoch of batches whose writer does not matter. */
export const EPOCH = 'e1';

export function by(fence: number, epoch = EPOCH): StreamWriter {
  return { fence, epoch };
}

export function at(n: number, epoch = n === 0 ? '' : EPOCH): FramePosition {
  return { n, epoch };
}

export function batch(runId: string, first: number, count: number, end = false, epoch = EPOCH): FrameBatch {
  return { runId, epoch, first, frames: numbers(first, first + count - 1).map((n) => JSON.stringify(chunk(n))), end };
}

export function page(first: number, count: number, state: { more: boolean; ended: boolean; epoch?: string }) {
  return { known: true, diverged: false, first, epoch: EPOCH, frames: batch('', first, count).frames, ...state };
}

export async function listen(store: RunEventStore, topic: RunTopic) {
  const signals: RunSignal[] = [];
  const stop = await store.subscribe(topic, (signal) => signals.push(signal));
  return { signals, stop };
}

/** Follows a run to its end and returns the numbers that its chunks carry; checks that frame n carries chunk n. */
export async function collect(
  store: RunEventStore,
  topic: RunTopic,
  runId: string,
  after = STREAM_START,
  options: FollowOptions = {},
): Promise<number[]> {
  const reader = await TopicReader.open(store, topic);
  try {
    return await drain(reader.follow(runId, after, options));
  } finally {
    reader.close();
  }
}

export async function drain(batches: AsyncGenerator<FrameBatch>): Promise<number[]> {
  const seen: number[] = [];
  for await (const { first, frames } of batches) {
    const carried = frames.map((frame) => Number((JSON.parse(frame) as { id: string }).id));
    expect(carried).toEqual(numbers(first, first + frames.length - 1));
    seen.push(...carried);
  }
  return seen;
}
