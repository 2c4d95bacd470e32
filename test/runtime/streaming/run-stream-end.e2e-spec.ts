import { afterAll, afterEach, beforeAll, expect, it, jest } from '@jest/globals';
import { StaleWriterError } from '../../../src/runtime/events/run-event-errors.js';
import { RunEventPublisher } from '../../../src/runtime/events/run-event-publisher.js';
import { createAgent, ThreadClient } from '../../support/agent-runs.js';
import { startTestApp, type TestApp } from '../../support/app.js';

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
  expect(end).toHaveBeenCalledTimes(2);
  expect(await thread.run(first)).toMatchObject({ status: 'completed', attempt: 1 });
  // Its readers get the end all the same.
  await thread.expectWhole(first, await thread.collect(first));
});
