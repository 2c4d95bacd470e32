import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { StaleWriterError } from '../../../src/runtime/events/run-event-store.js';
import { RunEventPublisher } from '../../../src/runtime/events/run-event-publisher.js';
import { createAgent, LONG, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { framesUntilDone } from '../../support/stream-frames.js';

let app: TestApp;

beforeAll(async () => {
  // The sweeper would find the next run, too, in the end: here it comes too late.
  app = await startTestApp({ env: { RUN_LOCK_MS: '600000', STREAM_KEEP_ALIVE_MS: '200' } });
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => app?.close());

it.each([
  ['is lost', new StaleWriterError('r')],
  ['cannot be reached', new Error('Connection terminated')],
])('the next run has its turn though the stream of a finished one %s', async (_, error) => {
  const end = jest.spyOn(RunEventPublisher.prototype, 'end').mockRejectedValueOnce(error);
  const thread = await ThreadClient.create(app, await createAgent(app));
  const first = await thread.postMessage('/wait 300\none');
  const second = await thread.postMessage('two');
  await thread.waitFor(second, 'completed');
  // The record says the end first.
  await eventually(() => expect(end).toHaveBeenCalledTimes(2));
  expect(await thread.run(first)).toMatchObject({ status: 'completed', attempt: 1 });
  // Its readers get the end all the same.
  await thread.expectWhole(first, await thread.collect(first));
});

it('a run that ended before it began is streamed, in its place, though its stream is written after its end', async () => {
  const thread = await ThreadClient.create(app, await createAgent(app));
  const running = await thread.postMessage(LONG);
  const cancelled = await thread.postMessage('never');
  const last = await thread.postMessage('last');
  const follower = (await thread.stream({ query: { follow: 'true' } })).frames()[Symbol.asyncIterator]();

  const { open } = RunEventPublisher;
  const writing = Promise.withResolvers<void>();
  jest.spyOn(RunEventPublisher, 'open').mockImplementationOnce(async (...args) => {
    await writing.promise;
    return open(...args);
  });
  const cancelling = thread.cancel(cancelled).expect(202);
  cancelling.then(undefined, () => undefined);
  await thread.waitFor(cancelled, 'cancelled');
  const reader = await thread.stream({ query: { taskId: cancelled } });
  expect(reader.status).toBe(200);
  await thread.cancel(running).expect(202);
  await thread.expectWhole(running, await framesUntilDone(follower));
  await thread.waitFor(last, 'completed');
  writing.resolve();
  await cancelling;
  for (const { chunks } of [await reader.collectUntilDone(), await framesUntilDone(follower)]) {
    expect(chunks.map(({ type }) => type)).toEqual(['start', 'abort']);
  }
  await thread.expectWhole(last, await framesUntilDone(follower));
});
