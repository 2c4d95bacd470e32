import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { STREAM_START, StaleWriterError, type RunEventStore } from '../../../src/runtime/events/run-event-store.js';
import { RunEventPublisher } from '../../../src/runtime/events/run-event-publisher.js';
import { TopicReader } from '../../../src/runtime/events/topic-reader.js';
import type { EventStoreBackend } from '../../support/event-store-fixtures.js';
import { at, by, chunk, collect, drain, EPOCH, newRun, numbers } from '../../support/run-event-probes.js';
import { eventually } from '../../support/eventually.js';

/** The contract between publishers and readers in different processes, for every adapter of `RunEventStore`. */
export function runEventDeliveryContract(name: string, start: () => Promise<EventStoreBackend>): void {
  describe(`run event delivery on ${name}`, () => {
    let backend: EventStoreBackend;
    let writer: RunEventStore;
    let other: RunEventStore;

    beforeAll(async () => {
      backend = await start();
      writer = backend.store();
      other = backend.store();
    });

    afterAll(() => backend.close());

    it('waits for a queued run and tails it to its end', async () => {
      const { topic, runId } = newRun();
      const reading = collect(other, topic, runId, STREAM_START, { awaitStart: true });
      await sleep(50);
      const publisher = await RunEventPublisher.open(writer, topic, runId, by(1));
      for (let n = 1; n <= 20; n++) {
        await publisher.push(chunk(n));
        await sleep(2);
      }
      await publisher.end();
      expect(await reading).toEqual(numbers(1, 20));
    });

    it('replays a finished run of many pages', async () => {
      const { topic, runId } = newRun();
      const publisher = await RunEventPublisher.open(writer, topic, runId, by(1));
      for (let n = 1; n <= 3000; n++) {
        await publisher.push(chunk(n));
      }
      await publisher.end();
      expect(await collect(other, topic, runId)).toEqual(numbers(1, 3000));
      expect(await collect(other, topic, runId, at(2900, EPOCH))).toEqual(numbers(2901, 3000));
    });

    it('finds the next run of a topic and follows it from its first frame', async () => {
      const { topic, runId } = newRun();
      const reader = await TopicReader.open(other, topic);
      const next = reader.nextRun(() => false);
      const publisher = await RunEventPublisher.open(writer, topic, runId, by(1));
      await publisher.push(chunk(1));
      expect(await next).toEqual({ runId, follows: undefined });
      await publisher.end();
      expect(await drain(reader.follow(runId, STREAM_START))).toEqual([1]);
      reader.close();
    });

    it('delivers exactly 1..N to 50 readers that join at any time, for small and large frames', async () => {
      const { topic, runId } = newRun();
      const total = 1500;
      const starts = Array.from({ length: 50 }, (_, i) => ({
        joinAt: Math.random() * 400,
        after: i % 3 ? 0 : i * 10,
      }));
      const publisher = await RunEventPublisher.open(writer, topic, runId, by(1));
      let written = 0;
      const readings = starts.map(async ({ joinAt, after }, i) => {
        await sleep(joinAt);
        // A reader can start only after a written frame.
        await eventually(() => expect(written).toBeGreaterThanOrEqual(after));
        return collect(i % 2 ? other : writer, topic, runId, at(after, after === 0 ? '' : EPOCH));
      });
      for (let n = 1; n <= total; n++) {
        await publisher.push(chunk(n, n % 300 === 0 ? 90_000 : n % 70 === 0 ? 9_000 : 20));
        if (n % 5 === 0) {
          await publisher.flush();
          written = n;
          await sleep(1);
        }
      }
      await publisher.end();
      const seen = await Promise.all(readings);
      seen.forEach((frames, i) => expect(frames).toEqual(numbers(starts[i]!.after + 1, total)));
    });

    it('neither loses nor repeats frames while all connections are repeatedly cut', async () => {
      const { topic, runId } = newRun();
      const total = 1000;
      const publisher = await RunEventPublisher.open(writer, topic, runId, by(1));
      const readings = Array.from({ length: 10 }, (_, i) => collect(i % 2 ? other : writer, topic, runId));
      for (let n = 1; n <= total; n++) {
        await publisher.push(chunk(n));
        if (n % 10 === 0) {
          await sleep(4);
        }
        if (n % 250 === 0) {
          await backend.cutAll();
        }
      }
      await publisher.end();
      for (const frames of await Promise.all(readings)) {
        expect(frames).toEqual(numbers(1, total));
      }
    });

    it('never interleaves two attempts of one run', async () => {
      const { topic, runId } = newRun();
      let stale = 0;
      const first = await RunEventPublisher.open(writer, topic, runId, by(1), { onStale: () => stale++ });
      const reading = collect(other, topic, runId);
      let n = 0;
      for (; n < 50; n++) {
        await first.push(chunk(n + 1));
      }
      await first.flush();
      const second = await RunEventPublisher.open(other, topic, runId, by(2));
      await first.push(chunk(1_000_000));
      await expect(first.flush()).rejects.toThrow(StaleWriterError);
      await expect(first.push(chunk(1_000_001))).rejects.toThrow(StaleWriterError);
      await expect(first.end()).rejects.toThrow(StaleWriterError);
      expect(stale).toBe(1);
      await second.push(chunk(51));
      await second.end();
      expect(await reading).toEqual(numbers(1, 51));
    });

    it('stops when the caller aborts', async () => {
      const { topic, runId } = newRun();
      await writer.open(topic, runId, by(1));
      const reason = new Error('gone');
      const leaving = new AbortController();
      const reading = collect(other, topic, runId, STREAM_START, { signal: leaving.signal });
      await sleep(20);
      leaving.abort(reason);
      await expect(reading).rejects.toBe(reason);
    });
  });
}
