import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import {
  StaleWriterError,
  StreamExpiredError,
  type RunEventStore,
} from '../../../src/runtime/events/run-event-store.js';
import { RunEventPublisher } from '../../../src/runtime/events/run-event-publisher.js';
import type { EventStoreBackend } from '../../support/event-store-fixtures.js';
import { at, batch, by, chunk, collect, listen, newRun, page } from '../../support/run-event-probes.js';
import { eventually } from '../../support/eventually.js';

/** The contract of every adapter of `RunEventStore`. */
export function runEventStoreContract(name: string, start: () => Promise<EventStoreBackend>): void {
  describe(`run event store on ${name}`, () => {
    let backend: EventStoreBackend;
    let writer: RunEventStore;
    let other: RunEventStore;

    beforeAll(async () => {
      backend = await start();
      writer = backend.store();
      other = backend.store();
    });

    afterAll(() => backend.close());

    describe('writing', () => {
      it('numbers a new stream from 1 and reads it back page by page', async () => {
        const { topic, runId } = newRun();
        expect(await writer.open(topic, runId, by(1))).toBe(1);
        await writer.append(topic, batch(runId, 1, 3), 1);
        await writer.append(topic, batch(runId, 4, 2), 1);

        expect(await other.read(topic, runId, at(0), 100)).toEqual(page(1, 5, { more: false, ended: false }));
        expect(await other.read(topic, runId, at(1), 3)).toEqual(page(2, 3, { more: true, ended: false }));
        expect(await other.read(topic, runId, at(5), 3)).toEqual(page(6, 0, { more: false, ended: false }));
        expect(await other.hasEnded(topic, runId)).toBe(false);

        await writer.append(topic, batch(runId, 6, 0, true), 1);
        expect(await other.read(topic, runId, at(3), 100)).toEqual(page(4, 2, { more: false, ended: true }));
        expect(await other.read(topic, runId, at(3), 1)).toEqual(page(4, 1, { more: true, ended: false }));
        expect(await other.hasEnded(topic, runId)).toBe(true);
      });

      it('does not know a run that was not opened', async () => {
        const { topic } = newRun();
        expect(await other.read(topic, randomUUID(), at(0), 10)).toMatchObject({ known: false, frames: [] });
        expect(await other.hasEnded(topic, randomUUID())).toBe(false);
      });

      it('rejects a batch that leaves a gap, repeats numbers or has no stream', async () => {
        const { topic, runId } = newRun();
        await expect(writer.append(topic, batch(runId, 1, 1), 1)).rejects.toThrow(StaleWriterError);
        await writer.open(topic, runId, by(1));
        await expect(writer.append(topic, batch(runId, 2, 1), 1)).rejects.toThrow(StaleWriterError);
        await writer.append(topic, batch(runId, 1, 2), 1);
        await expect(writer.append(topic, batch(runId, 2, 2), 1)).rejects.toThrow(StaleWriterError);
        await expect(writer.append(topic, { ...batch(runId, 1, 2), frames: ['"a"', '"b"'] }, 1)).rejects.toThrow(
          StaleWriterError,
        );
        expect(await other.read(topic, runId, at(0), 10)).toEqual(page(1, 2, { more: false, ended: false }));
      });

      it('accepts a repeated batch and stores it once', async () => {
        const { topic, runId } = newRun();
        await writer.open(topic, runId, by(1));
        await Promise.all([
          writer.append(topic, batch(runId, 1, 2), 1),
          other.append(topic, batch(runId, 1, 2), 1),
          writer.append(topic, batch(runId, 1, 2), 1),
        ]);
        await writer.append(topic, batch(runId, 3, 1, true), 1);
        await writer.append(topic, batch(runId, 3, 1, true), 1);
        await writer.append(topic, batch(runId, 1, 2), 1);
        expect(await other.read(topic, runId, at(0), 10)).toEqual(page(1, 3, { more: false, ended: true }));
      });

      it('fences off an earlier attempt and lets the later one continue with the next number', async () => {
        const { topic, runId } = newRun();
        await writer.open(topic, runId, by(1));
        await writer.append(topic, batch(runId, 1, 2), 1);
        expect(await other.open(topic, runId, by(2))).toBe(3);
        await expect(writer.append(topic, batch(runId, 3, 1), 1)).rejects.toThrow(StaleWriterError);
        await expect(writer.append(topic, batch(runId, 1, 2), 1)).rejects.toThrow(StaleWriterError);
        await expect(writer.open(topic, runId, by(1))).rejects.toThrow(StaleWriterError);
        expect(await other.open(topic, runId, by(2))).toBe(3);
        await other.append(topic, batch(runId, 3, 1, true), 2);
        expect(await writer.read(topic, runId, at(0), 10)).toEqual(page(1, 3, { more: false, ended: true }));
      });

      it('starts a new stream with its first frames and accepts a repeated start', async () => {
        const { topic, runId } = newRun();
        const first = batch(runId, 1, 2);
        await Promise.all([writer, other, writer].map((store) => store.start(topic, first, 1, null)));
        await writer.append(topic, batch(runId, 3, 1, true), 1);
        await writer.start(topic, first, 1, null);
        expect(await other.read(topic, runId, at(0), 10)).toEqual(page(1, 3, { more: false, ended: true }));

        const whole = newRun();
        const all = batch(whole.runId, 1, 2, true);
        await writer.start(whole.topic, all, 1, null);
        await writer.start(whole.topic, all, 1, null);
        expect(await other.read(whole.topic, whole.runId, at(0), 10)).toEqual(page(1, 2, { more: false, ended: true }));
      });

      it('rejects starting a stream that another writer holds or that has other frames', async () => {
        const { topic, runId } = newRun();
        await writer.start(topic, batch(runId, 1, 1), 1, null);
        await expect(other.start(topic, batch(runId, 1, 2), 1, null)).rejects.toThrow(StaleWriterError);
        await other.open(topic, runId, by(2));
        await expect(writer.start(topic, batch(runId, 1, 1), 1, null)).rejects.toThrow(StaleWriterError);
        await other.append(topic, batch(runId, 2, 1, true), 2);
        expect(await writer.read(topic, runId, at(0), 10)).toEqual(page(1, 2, { more: false, ended: true }));
      });

      it('distinguishes frames of two writers that have the same numbers', async () => {
        const { topic, runId } = newRun();
        await writer.open(topic, runId, by(1));
        await writer.append(topic, batch(runId, 1, 2), 1);
        await writer.append(topic, batch(runId, 3, 2), 1);
        await backend.forget(runId, 3);
        expect(await other.read(topic, runId, at(2), 10)).toEqual(page(3, 0, { more: false, ended: false }));
        expect(await other.read(topic, runId, at(4), 10)).toMatchObject({ known: true, diverged: true, frames: [] });

        expect(await writer.open(topic, runId, by(2, 'e2'))).toBe(3);
        await writer.append(topic, batch(runId, 3, 3, true, 'e2'), 2);
        expect(await other.read(topic, runId, at(0), 10)).toEqual(page(1, 2, { more: true, ended: false }));
        expect(await other.read(topic, runId, at(2), 10)).toEqual(
          page(3, 3, { more: false, ended: true, epoch: 'e2' }),
        );
        expect(await other.read(topic, runId, at(4, 'e2'), 10)).toEqual(
          page(5, 1, { more: false, ended: true, epoch: 'e2' }),
        );
        for (const lost of [at(3), at(4), at(5), at(6, 'e2'), at(2, 'e2')]) {
          expect(await other.read(topic, runId, lost, 10)).toMatchObject({ known: true, diverged: true, frames: [] });
        }
      });

      it('rejects a writer whose claim was lost and repeated', async () => {
        const { topic, runId } = newRun();
        await writer.start(topic, batch(runId, 1, 2), 1, null);
        await backend.forget(runId, 1);
        // A second writer with the same number has written up to the first writer's position.
        expect(await other.open(topic, runId, by(1, 'e2'))).toBe(1);
        await other.append(topic, batch(runId, 1, 2, false, 'e2'), 1);
        await expect(writer.append(topic, batch(runId, 3, 1), 1)).rejects.toThrow(StaleWriterError);
        await expect(writer.append(topic, batch(runId, 3, 0, true), 1)).rejects.toThrow(StaleWriterError);
        await other.append(topic, batch(runId, 3, 1, true, 'e2'), 1);
        expect(await other.read(topic, runId, at(0), 10)).toEqual(
          page(1, 3, { more: false, ended: true, epoch: 'e2' }),
        );
      });

      it('treats equal frames of another writer as different frames', async () => {
        const { topic, runId } = newRun();
        await writer.start(topic, batch(runId, 1, 2), 1, null);
        const same = batch(runId, 1, 2, false, 'e2');
        await expect(other.start(topic, same, 1, null)).rejects.toThrow(StaleWriterError);
        await expect(other.append(topic, same, 1)).rejects.toThrow(StaleWriterError);
      });

      it('reopens an ended stream for a later attempt', async () => {
        const { topic, runId } = newRun();
        await writer.open(topic, runId, by(1));
        await writer.append(topic, batch(runId, 1, 1, true), 1);
        await expect(writer.append(topic, batch(runId, 2, 1), 1)).rejects.toThrow(StaleWriterError);
        expect(await writer.open(topic, runId, by(2))).toBe(2);
        expect(await writer.read(topic, runId, at(0), 10)).toMatchObject({ known: true, ended: false });
      });
    });

    describe('signals', () => {
      it('carry small batches to every subscriber of the topic and to no other', async () => {
        const { topic, runId } = newRun();
        const heard = [await listen(writer, topic), await listen(other, topic), await listen(other, topic)];
        const elsewhere = await listen(other, { ...topic, threadId: 'another' });
        await writer.open(topic, runId, by(1));
        await writer.append(topic, batch(runId, 1, 2), 1);
        await writer.append(topic, batch(runId, 3, 1, true), 1);
        for (const { signals } of heard) {
          await eventually(() =>
            expect(signals).toEqual([
              { type: 'batch', ...batch(runId, 1, 2) },
              { type: 'batch', ...batch(runId, 3, 1, true) },
            ]),
          );
        }
        expect(elsewhere.signals).toEqual([]);
      });

      it('name the preceding run with the first frames of a run', async () => {
        const { topic, runId } = newRun();
        const { signals } = await listen(other, topic);
        const earlier = randomUUID();
        await writer.start(topic, batch(earlier, 1, 1), 1, null);
        await writer.start(topic, batch(runId, 1, 1), 1, earlier);
        await writer.append(topic, batch(runId, 2, 1), 1);
        await eventually(() =>
          expect(signals).toEqual([
            { type: 'batch', follows: null, ...batch(earlier, 1, 1) },
            { type: 'batch', follows: earlier, ...batch(runId, 1, 1) },
            { type: 'batch', ...batch(runId, 2, 1) },
          ]),
        );
      });

      it('become a hint when the payload is large', async () => {
        const { topic, runId } = newRun();
        const { signals } = await listen(other, topic);
        await writer.open(topic, runId, by(1));
        const large = JSON.stringify('é'.repeat(100_000));
        await writer.append(topic, { ...batch(runId, 1, 0), frames: [large, '"x"'], end: false }, 1);
        await eventually(() => expect(signals).toEqual([{ type: 'hint', runId }]));
        expect((await other.read(topic, runId, at(0), 10)).frames).toEqual([large, '"x"']);
      });

      it('limit the bytes of a page', async () => {
        const { topic, runId } = newRun();
        await writer.open(topic, runId, by(1));
        const large = JSON.stringify('x'.repeat(200_000));
        for (let n = 1; n <= 4; n++) {
          await writer.append(topic, { ...batch(runId, n, 0, n === 4), frames: [large] }, 1);
        }
        expect(await other.read(topic, runId, at(0), 100)).toMatchObject({
          frames: [large, large],
          more: true,
          ended: false,
        });
        expect(await other.read(topic, runId, at(2), 100)).toMatchObject({
          frames: [large, large],
          more: false,
          ended: true,
        });
      });

      it('survive concurrent subscribes and unsubscribes', async () => {
        const { topic, runId } = newRun();
        const kept = listen(other, topic);
        for (let i = 0; i < 40; i++) {
          const [first, second] = await Promise.all([listen(other, topic), listen(other, topic)]);
          first.stop();
          const third = listen(other, topic);
          second.stop();
          (await third).stop();
        }
        const { signals, stop } = await kept;
        stop();
        const again = await listen(other, topic);
        await writer.open(topic, runId, by(1));
        await writer.append(topic, batch(runId, 1, 1), 1);
        await eventually(() => expect(again.signals).toHaveLength(1));
        expect(signals).toEqual([]);
      });

      it('reach a thousand topics in one process', async () => {
        const runs = Array.from({ length: 1000 }, newRun);
        const heard = await Promise.all(runs.map(({ topic }) => listen(other, topic)));
        const picked = [0, 499, 999];
        for (const index of picked) {
          const { topic, runId } = runs[index]!;
          await writer.open(topic, runId, by(1));
          await writer.append(topic, batch(runId, 1, 1), 1);
          await eventually(() => expect(heard[index]!.signals).toHaveLength(1));
        }
        heard.forEach(({ stop }) => stop());
      });

      it('send resync after a lost connection and then resume', async () => {
        const { topic, runId } = newRun();
        const { signals } = await listen(other, topic);
        await backend.cutSignals();
        await eventually(() => expect(signals).toEqual([{ type: 'resync' }]));
        await writer.open(topic, runId, by(1));
        await writer.append(topic, batch(runId, 1, 1), 1);
        await eventually(() => expect(signals.at(-1)).toEqual({ type: 'batch', ...batch(runId, 1, 1) }));
      });

      it('broadcast notices to all processes', async () => {
        const { topic, runId } = newRun();
        const heard: string[] = [];
        const stops = [writer, other].map((store) => store.onNotice((notice) => heard.push(notice)));
        await Promise.all([listen(writer, topic), listen(other, topic)]);
        await other.announce(runId);
        await eventually(() => expect(heard).toEqual([runId, runId]));
        stops.forEach((stop) => stop());
      });
    });

    describe('expiry', () => {
      it('makes an ended run unreadable and deletes it', async () => {
        const brief = backend.store({ retentionMs: 1_000 });
        const { topic, runId } = newRun();
        const publisher = await RunEventPublisher.open(brief, topic, runId, by(1));
        await publisher.push(chunk(1));
        await publisher.flush();
        const { known, frames } = await other.read(topic, runId, at(0), 10);
        expect([known, frames.length]).toEqual([true, 1]);
        await publisher.end();
        await eventually(async () => expect((await other.read(topic, runId, at(0), 10)).known).toBe(false));
        await expect(collect(other, topic, runId)).rejects.toThrow(StreamExpiredError);
        await backend.deleteExpired();
        await eventually(async () => expect(await backend.footprint(runId)).toBe(0));
      });

      it('deletes a run that never ended', async () => {
        const brief = backend.store({ retentionMs: 1_000, abandonedMs: 1_000 });
        const { topic, runId } = newRun();
        await other.open(topic, runId, by(1));
        await other.append(topic, batch(runId, 1, 1), 1);
        expect(await other.read(topic, runId, at(0), 10)).toMatchObject({ known: true });
        await brief.append(topic, batch(runId, 2, 1), 1);
        await eventually(async () => expect((await other.read(topic, runId, at(0), 10)).known).toBe(false));
        await backend.deleteExpired();
        await eventually(async () => expect(await backend.footprint(runId)).toBe(0));
      });
    });
  });
}
