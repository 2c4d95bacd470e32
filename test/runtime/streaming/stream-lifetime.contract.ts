import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import {
  type Endpoint,
  createAgent,
  LONG,
  numbersIn,
  openStream,
  succeed,
  ThreadClient,
} from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { countSubscriptions } from '../../support/count-subscriptions.js';
import { StalledReader } from '../../support/stalled-reader.js';
import { framesUntilDone } from '../../support/stream-frames.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import { eventually } from '../../support/eventually.js';

/** A deleted or expired key closes its open streams within this time, in every process. */
/**
 * What may wait in this process for one reader that takes nothing: a page of frames with its framing, and some slack.
 */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** How streams live and end in an installation of several processes: two that serve HTTP, and one that runs agents. */
export function streamLifetimeContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`streams between processes on ${name}`, () => {
    let backend: StreamBackend;
    let worker: TestApp;
    let api: TestApp;
    let other: Endpoint;
    let otherApp: TestApp;
    let thread: ThreadClient;

    beforeAll(async () => {
      backend = await startBackend();
      api = await backend.start({ ROLE: 'api', STREAM_KEEP_ALIVE_MS: '100' });
      otherApp = await backend.start({ ROLE: 'api' });
      worker = await backend.start({ ROLE: 'worker' });
      other = { url: otherApp.url, org: 'default', apiKey: api.apiKey };
      thread = await ThreadClient.create(api, await createAgent(api));
    });

    afterAll(() => backend.close());

    const streamFromOther = (lastEventId?: string) =>
      openStream(other.url, other.org, thread.id, other.apiKey, lastEventId === undefined ? {} : { lastEventId });

    it('carry what a worker writes to readers at every API process', async () => {
      const streams = await Promise.all([thread.stream(), streamFromOther()]);
      const taskId = await thread.postMessage('/words 100\n/wait 50\n/words 100');
      const [here, there] = await Promise.all(streams.map((stream) => stream.collectUntilDone()));
      if (here === undefined) throw new Error('There is no reader.');
      await thread.expectWhole(taskId, here);
      expect(there).toEqual(here);
    });

    it('go on without a gap when the signals are cut in the middle of a run', async () => {
      const streams = await Promise.all([thread.stream(), streamFromOther()]);
      const taskId = await thread.postMessage(Array.from({ length: 10 }, () => '/words 50\n/wait 100').join('\n'));
      const collected = Promise.all(streams.map((stream) => stream.collectUntilDone()));
      for (let cut = 0; cut < 3; cut++) {
        await sleep(250);
        await eventually(async () => (await backend.cutSignals()) > 0);
      }
      for (const one of await collected) await thread.expectWhole(taskId, one);
    });

    it('miss no run that comes and goes while the signals are cut', async () => {
      const stream = await thread.stream({ query: { follow: 'true' } });
      const frames = stream.frames()[Symbol.asyncIterator]();
      for (let round = 0; round < 3; round++) {
        await backend.cutSignals();
        const taskId = await thread.postMessage('short');
        await thread.expectWhole(taskId, await framesUntilDone(frames));
      }
      stream.close();
    });

    it('continue at another process when theirs shuts down', async () => {
      const passing = await backend.start({ ROLE: 'api' });
      const stream = await openStream(passing.url, 'default', thread.id, api.apiKey);
      const taskId = await thread.postMessage(`/words 20\n${LONG}`);
      const ids: string[] = [];
      const reading = (async () => {
        for await (const { id = '' } of stream.frames()) ids.push(id);
      })();
      await eventually(() => ids.length > 0);
      await Promise.all([passing.close(), reading.catch(() => undefined)]);
      const continued = await streamFromOther(ids.at(-1));
      await thread.cancel(taskId).expect(202);
      const rest = await continued.collectUntilDone();
      expect([...ids, ...rest.ids]).toEqual((await thread.collect(taskId)).ids);
    });

    it.each([
      ['idle', undefined],
      ['busy', LONG],
    ])('close when their key is deleted at another process, on an %s thread', async (_, text) => {
      const own = await ThreadClient.create(api, thread.agentId);
      const { id, key } = await succeed<{ id: string; key: string }>(api, 'API_KEY_CREATE', {
        name: 'reader',
        permissions: {},
      });
      const taskId = text && (await own.postMessage(text));
      const stream = await openStream(other.url, 'default', own.id, key, { query: { follow: 'true' } });
      const closed = endOf(stream.frames());
      await sleep(300);
      await succeed(api, 'API_KEY_DELETE', { id });
      await closed;
      if (taskId) await own.cancel(taskId).expect(202);
    });

    it('close when their key expires', async () => {
      // On a slow machine, a key can expire before its first use.
      const stream = await eventually(async () => {
        const { key } = await succeed<{ key: string }>(api, 'API_KEY_CREATE', {
          name: 'short-lived',
          permissions: {},
          expiresIn: 1,
        });
        const opened = await openStream(api.url, 'default', thread.id, key);
        return opened.status !== 401 && opened;
      });
      expect(stream.status).toBe(200);
      await endOf(stream.frames());
    });

    it('leave nothing behind when their readers leave', async () => {
      const open = countSubscriptions(api);
      const idle = await ThreadClient.create(api, thread.agentId);
      const streams = await Promise.all(Array.from({ length: 20 }, () => idle.stream()));
      expect(open()).toBe(20);
      for (const stream of streams) stream.close();
      await eventually(() => expect(open()).toBe(0));
      await idle.ask('and the next reader is served');
      await eventually(() => expect(open()).toBe(0));
    });

    it('hold a bounded amount for a reader that takes nothing, which loses nothing when it takes up again', async () => {
      const open = countSubscriptions(api);
      const own = await ThreadClient.create(api, thread.agentId);
      const stalled = await StalledReader.open(api, `agent-runtime/threads/${own.id}/stream`, api.apiKey);
      const { id, key } = await succeed<{ id: string; key: string }>(api, 'API_KEY_CREATE', {
        name: 'stalled',
        permissions: {},
      });
      const revoked = await StalledReader.open(api, `agent-runtime/threads/${own.id}/stream`, key);
      // More than the buffers of the operating system take.
      const taskId = await own.postMessage('/words 60000');
      while ((await own.run(taskId)).status !== 'completed') {
        expect(stalled.bufferedBytes()).toBeLessThan(MAX_BUFFERED_BYTES);
        await sleep(100);
      }
      await eventually(() => expect(stalled.bufferedBytes()).toBeGreaterThan(0));

      await succeed(api, 'API_KEY_DELETE', { id });
      await eventually(() => expect(open()).toBe(1));
      revoked.close();

      // However long the run is over by now: its stream is complete, so it is not taken for lost.
      await backdateEnd(api, taskId);
      await sleep(300);
      const ids = await stalled.readIds();
      expect(numbersIn(ids)).toEqual(ids.map((_, i) => `${taskId}:${i + 1}`));
      expect(ids).toEqual((await own.collect(taskId)).ids);
      await eventually(() => expect(open()).toBe(0));
    }, 90_000);

    it('carry the run that was posted first, though a later one is cancelled while no worker is up', async () => {
      await worker.close();
      const streams = await Promise.all([thread.stream(), thread.stream({ query: { follow: 'true' } })]);
      const first = await thread.postMessage('first');
      const second = await thread.postMessage('second');
      await thread.cancel(second).expect(202);
      worker = await backend.start({ ROLE: 'worker' });
      await thread.expectWhole(first, await streams[0].collectUntilDone());
      const frames = streams[1].frames()[Symbol.asyncIterator]();
      await thread.expectWhole(first, await framesUntilDone(frames));
      expect(numbersIn((await framesUntilDone(frames)).ids)).toEqual([`${second}:1`, `${second}:2`]);
      streams[1].close();
    });

    it('end as their run did when nothing of it was ever streamed', async () => {
      await worker.close();
      const taskId = await thread.postMessage('never streamed');
      const stream = await thread.stream();
      await backdateEnd(api, taskId);
      const { chunks } = await stream.collectUntilDone();
      expect(chunks).toMatchObject([
        { type: 'start', messageMetadata: { taskId } },
        { type: 'message-metadata' },
        { type: 'error', errorText: expect.stringContaining('transcript') },
      ]);
    });

    it('are gone after the retention, with a pointer to the transcript', async () => {
      await worker.close();
      await backend.start({ ROLE: 'worker', STREAM_RETENTION_MS: '1000' });
      const { taskId, ids } = await thread.ask('soon gone');
      await eventually(async () => {
        const stream = await thread.stream({ query: { taskId } });
        await stream.text();
        expect(stream.status).toBe(410);
      });
      for (const options of [{ query: { taskId } }, { lastEventId: ids[0] ?? '' }, { lastEventId: ids.at(-1) ?? '' }]) {
        const expired = await thread.stream(options);
        expect(expired.status).toBe(410);
        expect(JSON.parse(await expired.text())).toMatchObject({
          code: 'stream_expired',
          detail: expect.stringContaining('transcript'),
        });
      }
      await thread.answer(taskId);
    });
  });
}

/** Makes a run one that failed a minute ago. */
async function backdateEnd({ app }: TestApp, taskId: string): Promise<void> {
  await app
    .get(DataSource)
    .query(`UPDATE runs SET status = 'failed', finished_at = now() - interval '1 minute' WHERE id = $1`, [taskId]);
}

/** Resolves when the stream is over, however it ends. */
async function endOf(frames: AsyncIterable<unknown>): Promise<void> {
  const iterator = frames[Symbol.asyncIterator]();
  try {
    while (!(await iterator.next()).done);
  } catch {
    // A connection that is cut ends the body with an error.
  }
}
