import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { createAgent, LONG, numbersIn, openStream, textOf, ThreadClient, unusedId } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { startSecondOrganization } from '../../support/second-organization.js';
import { framesUntilDone } from '../../support/stream-frames.js';
import type { StreamBackend } from '../../support/stream-backends.js';

const READERS = 20;

/** What a reader of a thread may ask for, and what it gets, whatever carries the frames between processes. */
export function streamContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`the stream on ${name}`, () => {
    let backend: StreamBackend;
    let app: TestApp;
    let agentId: string;
    let thread: ThreadClient;

    beforeAll(async () => {
      backend = await startBackend();
      app = await backend.start({ STREAM_KEEP_ALIVE_MS: '100' });
      agentId = await createAgent(app);
      thread = await ThreadClient.create(app, agentId);
    });

    afterAll(() => backend.close());

    it('has the headers of an AI SDK UI-message stream, at once', async () => {
      const stream = await thread.stream();
      stream.close();
      expect(stream.status).toBe(200);
      expect(Object.fromEntries(stream.headers)).toMatchObject({
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        'x-vercel-ai-ui-message-stream': 'v1',
        'x-accel-buffering': 'no',
        'x-request-id': expect.any(String),
      });
    });

    it('waits on an idle thread for the next run, and carries it whole', async () => {
      const first = await thread.ask('hello');
      await thread.expectWhole(first.taskId, first);
      const second = await thread.ask('/words 600');
      await thread.expectWhole(second.taskId, second);
      expect(textOf(second.chunks)).toMatch(/^word1 .* word600$/);
    });

    it('never carries the run before, even when opened the moment that it is over', async () => {
      for (let round = 0; round < 10; round++) {
        const before = await thread.postMessage('before');
        await thread.waitFor(before, 'completed');
        const { taskId, ids } = await thread.ask('now');
        expect(numbersIn(ids)[0]).toBe(`${taskId}:1`);
      }
    });

    it(`gives ${READERS} readers that join at any time exactly the same frames`, async () => {
      const taskId = await thread.postMessage('/words 100\n/wait 300\n/words 100\n/wait 300\n/words 100');
      const readers = Array.from({ length: READERS }, async (_, i) => {
        await sleep(i * 40);
        return thread.collect(taskId);
      });
      const [one, ...others] = await Promise.all(readers);
      if (one === undefined) throw new Error('There is no reader.');
      await thread.expectWhole(taskId, one);
      for (const other of others) expect(other).toEqual(one);
    });

    it('replays a run that is under way from its start, then tails it', async () => {
      const first = await thread.stream();
      const taskId = await thread.postMessage('/words 20\n/wait 3000\n/words 20');
      for await (const { data } of first.frames()) if (data.includes('text-delta')) break;
      first.close();
      // Named: it may be over by now.
      const late = await (await thread.stream({ query: { taskId } })).collectUntilDone();
      await thread.expectWhole(taskId, late);
    });

    it('closes after [DONE], and stays across runs with ?follow=true', async () => {
      const single = await thread.stream();
      const following = await thread.stream({ query: { follow: 'true' } });
      const taskIds = [];
      for (const text of ['one', '/wait 50\n/words 3', '/fail three']) taskIds.push(await thread.postMessage(text));
      const frames = following.frames()[Symbol.asyncIterator]();
      for (const taskId of taskIds) await thread.expectWhole(taskId, await framesUntilDone(frames));
      following.close();

      const data = [];
      for await (const frame of single.frames()) data.push(frame);
      expect(data.at(-1)).toEqual({ id: undefined, data: '[DONE]' });
      expect(new Set(data.slice(0, -1).map(({ id }) => id?.split(':')[0]))).toEqual(new Set([taskIds[0]]));
    });

    it('carries with ?taskId= a run that runs, waits or is over', async () => {
      const running = await thread.postMessage('/wait 300\n/words 3');
      const queued = await thread.postMessage('/words 4');
      const both = await Promise.all([thread.collect(running), thread.collect(queued)]);
      await thread.expectWhole(running, both[0]);
      await thread.expectWhole(queued, both[1]);
      expect(await thread.collect(running)).toEqual(both[0]);
    });

    it('continues exactly after Last-Event-ID', async () => {
      const taskId = await thread.postMessage('/words 10\n/wait 300\n/words 10');
      const live = await (await thread.stream({ query: { taskId } })).collectUntilDone();
      for (let n = 1; n <= live.ids.length; n++) {
        const rest = await (await thread.stream({ lastEventId: live.ids[n - 1] ?? '' })).collectUntilDone();
        expect(rest).toEqual({ ids: live.ids.slice(n), chunks: live.chunks.slice(n) });
      }
    });

    it('continues a live run without gap after a reader has left in the middle', async () => {
      const stream = await thread.stream();
      const taskId = await thread.postMessage('/words 50\n/wait 300\n/words 50');
      const ids: string[] = [];
      for await (const { id = '' } of stream.frames()) if (ids.push(id) === 7) break;
      stream.close();
      const rest = await (await thread.stream({ lastEventId: ids.at(-1) ?? '' })).collectUntilDone();
      expect([...ids, ...rest.ids]).toEqual((await thread.collect(taskId)).ids);
    });

    it('refuses a position that no frame has', async () => {
      const { taskId, ids } = await thread.ask('short');
      const position = ids[0] ?? '';
      const other = (await thread.ask('other')).taskId;
      const malformed = [
        '7',
        'x:1',
        `${taskId}`,
        `${taskId}:`,
        `${taskId}:-1`,
        `${taskId}:1.5`,
        `${taskId}:9999999999`,
        `${taskId}:1`,
      ];
      for (const lastEventId of malformed) {
        await expectProblem(await thread.stream({ lastEventId }), 400, 'invalid_stream_position');
      }
      await expectProblem(await thread.stream({ query: { taskId: 'x' } }), 400, 'invalid_stream_position');
      const contradicting = { query: { taskId: other }, lastEventId: position };
      await expectProblem(await thread.stream(contradicting), 400, 'invalid_stream_position');
      await expectProblem(await thread.stream({ query: { follow: 'yes' } }), 400, 'invalid_request');
      await expectProblem(await thread.stream({ query: { idle: '200' } }), 400, 'invalid_request');
      await expectProblem(await thread.stream({ query: { taskid: 'a' } }), 400, 'invalid_request');
    });

    it('shows no run of another thread, and no thread of another organization', async () => {
      const { taskId, ids } = await thread.ask('mine');
      const elsewhere = await ThreadClient.create(app, agentId);
      await expectProblem(await elsewhere.stream({ query: { taskId } }), 404, 'run_not_found');
      await expectProblem(await elsewhere.stream({ lastEventId: ids[0] ?? '' }), 404, 'run_not_found');
      await expectProblem(await elsewhere.stream({ query: { taskId: unusedId() } }), 404, 'run_not_found');

      const second = await startSecondOrganization(app, `second-${Date.now()}`);
      const created = await second.tool('API_KEY_CREATE', { name: 'reader', permissions: {} });
      const { key } = created.body as { key: string };
      await expectProblem(
        await openStream(app.url, second.slug, thread.id, key, { query: { taskId } }),
        404,
        'thread_not_found',
      );
      await expectProblem(await openStream(app.url, 'default', thread.id, key), 403, 'organization_mismatch');
      await expectProblem(await openStream(app.url, 'default', unusedId(), app.apiKey), 404, 'thread_not_found');
    });

    it('answers ?idle=204 on an idle thread, and streams when something runs or waits', async () => {
      const idle = await thread.stream({ query: { idle: '204' } });
      expect([idle.status, await idle.text()]).toEqual([204, '']);
      const taskId = await thread.postMessage(LONG);
      const busy = await thread.stream({ query: { idle: '204' } });
      expect(busy.headers.get('x-task-id')).toBe(taskId);
      // A run that is cancelled before it begins stores no answer.
      await thread.waitFor(taskId, 'running');
      await thread.cancel(taskId).expect(202);
      await thread.expectWhole(taskId, await busy.collectUntilDone());
    });

    it('sends comments while there is nothing to say', async () => {
      const response = await fetch(`${app.url}/api/default/agent-runtime/threads/${thread.id}/stream`, {
        headers: { authorization: `Bearer ${app.apiKey}` },
      });
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const comment = ': keep-alive\n\n';
      // One read can return several.
      let text = '';
      while (text.length < 2 * comment.length) {
        const read = await reader?.read();
        expect(read?.done).toBe(false);
        text += read?.value;
      }
      expect(text.startsWith(comment.repeat(2))).toBe(true);
      await reader?.cancel();
    });

    it('ends the stream of a run that was cancelled while it waited', async () => {
      const running = await thread.postMessage(LONG);
      const queued = await thread.postMessage('never');
      const stream = await thread.stream({ query: { taskId: queued } });
      await thread.cancel(queued).expect(202);
      const { ids, chunks } = await stream.collectUntilDone();
      expect(numbersIn(ids)).toEqual([`${queued}:1`, `${queued}:2`]);
      expect(chunks).toMatchObject([
        { type: 'start', messageId: expect.any(String), messageMetadata: { taskId: queued } },
        { type: 'abort' },
      ]);
      await thread.cancel(running).expect(202);
      await thread.collect(running);
    });

    it('ends the stream of a run that is cancelled or fails under way', async () => {
      const stream = await thread.stream();
      const taskId = await thread.postMessage(`/words 5\n${LONG}`);
      await thread.waitFor(taskId, 'running');
      await thread.cancel(taskId).expect(202);
      const cancelled = await stream.collectUntilDone();
      await thread.expectWhole(taskId, cancelled);
      expect(cancelled.chunks.at(-1)?.type).toBe('abort');

      const failed = await thread.ask('/words 2\n/fail out of coal');
      expect(failed.chunks.at(-1)).toEqual({ type: 'error', errorText: expect.any(String) });
    });
  });
}

async function expectProblem(
  response: { status: number; text(): Promise<string> },
  status: number,
  code: string,
): Promise<void> {
  expect(response.status).toBe(status);
  expect(JSON.parse(await response.text())).toMatchObject({ status, code });
}
