import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RunEvents } from '../../../src/runtime/events/run-events.js';
import { RunReader } from '../../../src/runtime/runs/records/run-reader.js';
import { RunWaiting } from '../../../src/runtime/turns/run-waiting.js';
import { createAgent, LONG, ThreadClient } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import { ask, collectPosted, openPosted, readRun, resultOf } from './turns.support.js';

/** Waiting for runs in an installation where one process serves HTTP and another one runs agents. */
export function waitingContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`waiting for runs of another process on ${name}`, () => {
    let backend: StreamBackend;
    let api: TestApp;
    let worker: TestApp;
    let agentId: string;

    beforeAll(async () => {
      backend = await startBackend();
      api = await backend.start({ ROLE: 'api' });
      worker = await backend.start({ ROLE: 'worker' });
      agentId = await createAgent(api);
    });
    afterAll(() => backend.close());

    const newThread = () => ThreadClient.create(api, agentId);

    it('ends by the event', async () => {
      const looks = jest.spyOn(RunReader.prototype, 'findBusyAmong').mockImplementation(async (ids) => new Set(ids));
      const watches = jest.spyOn(RunEvents.prototype, 'watchStops');
      try {
        const thread = await newThread();
        const answering = ask(thread, LONG, 60).expect(200).then(resultOf);
        await eventually(() => expect(watches).toHaveBeenCalled());
        // From now on, the request hears of the end.
        await watches.mock.results[0]?.value;
        const taskId = String((await thread.messages())[0]?.metadata['taskId']);
        await thread.waitFor(taskId, 'running');
        await thread.cancel(taskId).expect(202);
        expect(await answering).toMatchObject({ taskId, status: 'cancelled' });
        expect(looks).toHaveBeenCalled();
      } finally {
        watches.mockRestore();
        looks.mockRestore();
      }
    });

    it('ends though the event is lost', async () => {
      const thread = await newThread();
      const waits = jest.spyOn(RunWaiting.prototype, 'untilOver');
      const answering = ask(thread, '/wait 1000\nhello', 60).then((answer) => answer);
      await eventually(() => expect(waits.mock.calls.length).toBeGreaterThan(0));
      waits.mockRestore();
      await backend.cutSignals();
      expect((await answering).status).toBe(200);
    });

    it('streams from the post', async () => {
      const thread = await newThread();
      const answer = await collectPosted(await openPosted(api, thread, '/words 100\n/wait 50\n/words 100'));
      await thread.expectWhole(answer.taskId, answer);
    });

    it('is answered at once when the process is asked to end, and the run goes on', async () => {
      const leaving = await backend.start({ ROLE: 'api' });
      const endpoint = { ...leaving, apiKey: api.apiKey };
      const { id } = await newThread();
      const there = new ThreadClient(endpoint, agentId, id);
      const thread = new ThreadClient(api, agentId, id);
      const waits = jest.spyOn(RunWaiting.prototype, 'untilOver');
      const posting = ask(there, LONG, 60).then((answer) => answer);
      await eventually(() => expect(waits.mock.calls.length).toBeGreaterThan(0));
      const taskId = waits.mock.calls[0]?.[0].id ?? '';
      const reading = readRun(endpoint, taskId, { wait: 60 }).then((answer) => answer);
      await eventually(() => expect(waits.mock.calls.length).toBeGreaterThan(1));
      waits.mockRestore();
      await leaving.close();
      expect(await posting).toMatchObject({ status: 202, body: { taskId } });
      const read = await reading;
      expect(read.status).toBe(200);
      expect(['queued', 'running']).toContain(resultOf(read).status);
      await thread.waitFor(taskId, 'running');
      await thread.cancel().expect(202);
    });

    it('ends when the worker is stopped and another one finishes the run', async () => {
      const thread = await newThread();
      const answering = ask(thread, '/wait 2000\nhello', 60).then((answer) => answer);
      await eventually(async () => expect((await thread.messages()).length).toBeGreaterThan(0));
      const taskId = String((await thread.messages())[0]?.metadata['taskId']);
      await thread.waitFor(taskId, 'running', 'completed');
      await backend.start({ ROLE: 'worker' });
      await worker.close();
      expect((await answering).body).toMatchObject({ taskId, status: 'completed' });
    });
  });
}
