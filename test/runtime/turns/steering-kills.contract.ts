import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { type McpUpstream, startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import { connect, createAgent, ThreadClient } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { type ServiceProcess, startWorkerProcess } from '../../support/service-process.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import { SCRIPTED, useScriptedModel } from '../approvals/approvals.support.js';
import { HOLD, steer } from './steering.support.js';

/** So long that only the connections of workers can tell that one has died. */
const ENV = { RUN_LOCK_MS: '600000', UPSTREAM_ALLOW_PRIVATE: 'true' };
const START_MS = 120_000;

/** What becomes of messages for runs whose workers are killed. */
export function steeringKillsContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`a message on ${name}`, () => {
    let backend: StreamBackend;
    let api: TestApp;
    let model: FakeOpenAI;
    let upstream: McpUpstream;
    let agentId: string;
    const workers: ServiceProcess[] = [];
    let gate = Promise.withResolvers<string>();
    const release = (): void => gate.resolve('held');

    beforeAll(async () => {
      const hold = { annotations: { readOnlyHint: true }, handler: () => gate.promise };
      [backend, model, upstream] = await Promise.all([startBackend(), startFakeOpenAI(), startMcpUpstream({ hold })]);
      api = await backend.start({ ...ENV, ROLE: 'api' });
      await useScriptedModel(api, model);
      agentId = await createAgent(api, [await connect(api, upstream.url)]);
    }, START_MS);

    afterAll(async () => {
      await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
      await backend?.close();
      await model?.close();
      await upstream?.close();
    });

    beforeEach(() => {
      gate = Promise.withResolvers();
      upstream.calls.length = 0;
    });

    /** A run whose tool call is held, and its worker. */
    async function startHeld(): Promise<{ doomed: ServiceProcess; thread: ThreadClient; taskId: string }> {
      const thread = await ThreadClient.create(api, agentId);
      const taskId = await thread.postMessage('Which one?', SCRIPTED);
      const doomed = await startWorker();
      await eventually(() => expect(upstream.calls).toHaveLength(1));
      return { doomed, thread, taskId };
    }

    async function startWorker(): Promise<ServiceProcess> {
      const worker = await startWorkerProcess({ ...backend.env, ...ENV });
      workers.push(worker);
      return worker;
    }

    /** The texts of users in the newest request to the model. */
    const askedByUsers = (): unknown[] =>
      (model.requests.at(-1)?.body.messages ?? []).filter(({ role }) => role === 'user').map(({ content }) => content);

    async function expectTakenOnce(thread: ThreadClient, taskId: string, texts: readonly string[]): Promise<void> {
      expect(await thread.waitFor(taskId, 'completed', 'failed')).toMatchObject({ status: 'completed' });
      expect(askedByUsers()).toEqual(['Which one?', ...texts]);
      const { parts } = await thread.answer(taskId);
      expect(parts).toEqual(
        expect.arrayContaining(
          texts.map((text) => expect.objectContaining({ type: 'data-steer', data: expect.objectContaining({ text }) })),
        ),
      );
      expect(parts.filter((part) => (part as { type: string }).type === 'data-steer')).toHaveLength(texts.length);
      await thread.expectAnswer(taskId, await thread.collect(taskId));
      expect(await thread.messages()).toHaveLength(texts.length + 2);
    }

    it(
      'is taken by a run that was queued, and by one whose worker was killed before it took it',
      async () => {
        model.script(HOLD);
        const thread = await ThreadClient.create(api, agentId);
        const taskId = await thread.postMessage('Which one?', SCRIPTED);
        expect(await steer(thread, 'first')).toEqual({ taskId, steered: true });
        const doomed = await startWorker();
        await eventually(() => expect(upstream.calls).toHaveLength(1));
        expect(askedByUsers()).toEqual(['Which one?', 'first']);
        expect(await steer(thread, 'second')).toEqual({ taskId, steered: true });
        await doomed.kill('SIGKILL');
        release();
        const next = await startWorker();
        await expectTakenOnce(thread, taskId, ['first', 'second']);
        await next.kill('SIGTERM');
      },
      START_MS,
    );

    it.each([
      ['and the stream has it', Infinity],
      ['and only the transcript has it', 0],
    ])(
      'is heard again when the worker is killed before it was answered, %s',
      async (_, kept) => {
        model.script(HOLD, { kind: 'hang-after', deltas: ['I'] });
        const { doomed, thread, taskId } = await startHeld();
        expect(await steer(thread, 'mine')).toEqual({ taskId, steered: true });
        release();
        await eventually(async () =>
          expect(JSON.stringify((await thread.answer(taskId)).parts)).toMatch(/"data-steer".*"text":"I"/),
        );
        await doomed.kill('SIGKILL');
        if (kept === 0) await backend.lose(taskId, 0);
        const next = await startWorker();
        await expectTakenOnce(thread, taskId, ['mine']);
        expect(await thread.run(taskId)).toMatchObject({ attempt: 2, steps: 2 });
        await next.kill('SIGTERM');
      },
      START_MS,
    );

    it(
      'is heard when the worker is killed right after it took it',
      async () => {
        model.script(HOLD);
        const { doomed, thread, taskId } = await startHeld();
        await steer(thread, 'mine');
        await doomed.kill('SIGKILL');
        await api.app.get(DataSource).query('UPDATE runs SET steers_taken = steers WHERE id = $1', [taskId]);
        release();
        const next = await startWorker();
        await expectTakenOnce(thread, taskId, ['mine']);
        await next.kill('SIGTERM');
      },
      START_MS,
    );
  });
}
