import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { RunEvents } from '../../../src/runtime/events/run-events.js';
import { RunReader } from '../../../src/runtime/runs/records/run-reader.js';
import type { McpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import { connect, ThreadClient } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import { ask, readRun, resultOf } from '../turns/turns.support.js';
import { answer, createAskingAgent, startUpstream, startWaiting } from './approvals.support.js';

const YES = { approved: true };

/** Approvals in an installation where one process serves HTTP and another one runs agents. */
export function approvalsContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`approvals of runs of another process on ${name}`, () => {
    let backend: StreamBackend;
    let api: TestApp;
    let upstream: McpUpstream;
    let agentId: string;

    beforeAll(async () => {
      [backend, upstream] = await Promise.all([startBackend(), startUpstream()]);
      api = await backend.start({ ROLE: 'api' });
      await backend.start({ ROLE: 'worker' });
      agentId = await createAskingAgent(api, await connect(api, upstream.url), 'all');
    });
    afterAll(async () => {
      await backend?.close();
      await upstream?.close();
    });

    it('wake a request that waits for the run, by the event', async () => {
      const { findBusyAmong } = RunReader.prototype;
      const { send } = upstream.tools;
      const sending = Promise.withResolvers<string>();
      const looks = jest.spyOn(RunReader.prototype, 'findBusyAmong').mockImplementation(async (ids) => new Set(ids));
      const watches = jest.spyOn(RunEvents.prototype, 'watchStops');
      try {
        if (send !== undefined) upstream.tools['send'] = { ...send, handler: () => sending.promise };
        const thread = await ThreadClient.create(api, agentId);
        const waiting = resultOf(await ask(thread, '/call send {}', 60).expect(200));
        expect(waiting).toMatchObject({ status: 'waiting', pending_approvals: [{ tool_name: 'send' }] });
        await answer(api, thread.id, waiting.pending_approvals[0]?.id ?? '', YES).expect(202);
        const before = watches.mock.calls.length;
        // The look of a request that has just subscribed is a real one.
        looks.mockImplementationOnce(function (this: RunReader, ids) {
          return findBusyAmong.call(this, ids);
        });
        const reading = readRun(api, waiting.taskId, { wait: 60 }).expect(200).then(resultOf);
        await eventually(() => expect(watches.mock.calls.length).toBeGreaterThan(before));
        await watches.mock.results.at(-1)?.value;
        sending.resolve('sent');
        expect(await reading).toMatchObject({ status: 'completed' });
        expect(looks).toHaveBeenCalled();
      } finally {
        looks.mockRestore();
        watches.mockRestore();
        if (send !== undefined) upstream.tools['send'] = send;
      }
    });

    it('go through one stream', async () => {
      const { thread, stream, taskId, approvals } = await startWaiting(api, agentId, 'First\n/call send {}\nand on');
      const late = await thread.stream();
      await answer(api, thread.id, approvals[0]?.id ?? '', YES).expect(202);
      await thread.expectWhole(taskId, await stream.collectUntilDone());
      await thread.expectWhole(taskId, await late.collectUntilDone());
    });

    it.each([0, 3])('are in the answer though the live buffer has lost the frames after %i', async (kept) => {
      const text = 'First\n/call send {"n":1}\n/call send {"n":2}\nand on';
      const { thread, stream, taskId, approvals } = await startWaiting(api, agentId, text);
      await answer(api, thread.id, approvals[0]?.id ?? '', YES).expect(202);
      await eventually(async () => {
        const [pending] = (await thread.run(taskId)).pending_approvals;
        return pending !== undefined && pending.id !== approvals[0]?.id;
      });
      await thread.waitFor(taskId, 'waiting');
      const [second] = (await thread.run(taskId)).pending_approvals;
      await backend.lose(taskId, kept);
      const late = await thread.stream();
      upstream.calls.length = 0;
      await answer(api, thread.id, second?.id ?? '', { approved: false, reason: 'enough' }).expect(202);
      await thread.expectAnswer(taskId, await stream.collectUntilDone(60_000));
      await thread.expectAnswer(taskId, await late.collectUntilDone(60_000));
      expect(upstream.calls).toEqual([]);
    });

    it('reach readers whose signals were lost', async () => {
      const { thread, stream, taskId, approvals } = await startWaiting(api, agentId, '/call send {}');
      await backend.cutSignals();
      await answer(api, thread.id, approvals[0]?.id ?? '', { approved: false }).expect(202);
      await thread.expectWhole(taskId, await stream.collectUntilDone(60_000));
    });
  });
}
