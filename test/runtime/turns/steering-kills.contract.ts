import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
    /** What ends the calls of `hold`, in their order, until the worker is killed. */
    const held: (() => void)[] = [];
    let isHolding = true;

    beforeAll(async () => {
      const handler = () =>
        new Promise<string>((resolve) => {
          if (isHolding) held.push(() => resolve('held'));
          else resolve('held');
        });
      const hold = { annotations: { readOnlyHint: true }, handler };
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

    async function startWorker(): Promise<ServiceProcess> {
      const worker = await startWorkerProcess({ ...backend.env, ...ENV });
      workers.push(worker);
      return worker;
    }

    interface Run {
      readonly question: string;
      readonly thread: ThreadClient;
      readonly taskId: string;
    }

    async function post(question: string): Promise<Run> {
      const thread = await ThreadClient.create(api, agentId);
      return { question, thread, taskId: await thread.postMessage(question, SCRIPTED) };
    }

    /** A run whose tool call is held. */
    async function startHeld(question: string): Promise<Run> {
      const before = held.length;
      const run = await post(question);
      await eventually(() => expect(held).toHaveLength(before + 1));
      return run;
    }

    /** The texts of users in the newest request to the model for the run. */
    function askedByUsers({ question }: Run): unknown[] {
      const texts = model.requests.map(({ body: { messages = [] } }) =>
        messages.filter(({ role }) => role === 'user').map(({ content }) => content),
      );
      return texts.findLast(([first]) => first === question) ?? [];
    }

    async function expectTakenOnce(run: Run, texts: readonly string[]): Promise<void> {
      const { question, thread, taskId } = run;
      expect(await thread.waitFor(taskId, 'completed', 'failed')).toMatchObject({ status: 'completed' });
      expect(askedByUsers(run)).toEqual([question, ...texts]);
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

    describe('whose worker is killed', () => {
      const runs = {} as Record<'queued' | 'streamed' | 'stored' | 'taken', Run>;

      beforeAll(async () => {
        model.script(HOLD);
        runs.queued = await post('Which one was queued?');
        expect(await steer(runs.queued.thread, 'first')).toEqual({ taskId: runs.queued.taskId, steered: true });
        const doomed = await startWorker();
        await eventually(() => expect(held).toHaveLength(1));
        expect(askedByUsers(runs.queued)).toEqual([runs.queued.question, 'first']);
        expect(await steer(runs.queued.thread, 'second')).toEqual({ taskId: runs.queued.taskId, steered: true });

        for (const kept of ['streamed', 'stored'] as const) {
          model.script(HOLD, { kind: 'hang-after', deltas: ['I'] });
          const run = (runs[kept] = await startHeld(`Which one was ${kept}?`));
          expect(await steer(run.thread, 'mine')).toEqual({ taskId: run.taskId, steered: true });
          held.at(-1)?.();
          await eventually(async () =>
            expect(JSON.stringify((await run.thread.answer(run.taskId)).parts)).toMatch(/"data-steer".*"text":"I"/),
          );
        }

        model.script(HOLD);
        runs.taken = await startHeld('Which one was taken?');
        await steer(runs.taken.thread, 'mine');

        await doomed.kill('SIGKILL');
        isHolding = false;
        for (const release of held) release();
        await backend.lose(runs.stored.taskId, 0);
        await api.query('UPDATE runs SET steers_taken = steers WHERE id = $1', [runs.taken.taskId]);
        await startWorker();
      }, START_MS);

      it('is taken by a run that was queued, and by one whose worker was killed before it took it', () =>
        expectTakenOnce(runs.queued, ['first', 'second']));

      it.each([
        ['and the stream has it', 'streamed'],
        ['and only the transcript has it', 'stored'],
      ] as const)('is heard again when the worker is killed before it was answered, %s', async (_, kept) => {
        const { thread, taskId } = runs[kept];
        await expectTakenOnce(runs[kept], ['mine']);
        expect(await thread.run(taskId)).toMatchObject({ attempt: 2, steps: 2 });
      });

      it('is heard when the worker is killed right after it took it', () => expectTakenOnce(runs.taken, ['mine']));
    });
  });
}
