import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { type CallToolResult, CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { type McpUpstream, startMcpUpstream } from '../../../src/boot/testing/mcp-upstream.js';
import { connect, createAgent, serveTier, succeed, ThreadClient } from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { openLegacy } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { rpcOf } from '../../support/proxy-calls.js';
import { ServiceProcess } from '../../support/service-process.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import type { Tenant } from '../../support/tenant.js';
import { type AskTask, createTask, idsIn, requestTask, taskIn, textIn, untilTask } from './ask.support.js';

/** So long that only the connections of workers can tell that one has died. */
const ENV = { RUN_LOCK_MS: '600000', UPSTREAM_ALLOW_PRIVATE: 'true' };
const START_MS = 120_000;
const YES = { action: 'accept', content: { approve: true } };
const TAKEN = { kind: 'hang-after' as const, deltas: ['Taken'] };
const ANSWER = { kind: 'text' as const, deltas: ['The', ' answer.'] };

/** A call by the run that makes it. */
const callOf = (name: string, run: string) => ({ kind: 'tool-calls' as const, calls: [{ name, arguments: { run } }] });

/** What becomes of a task of the tool that runs an agent when the process is killed that the client has called. */
export function askKillsContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`the tool that runs an agent, as a task, on ${name}`, () => {
    let backend: StreamBackend;
    let api: TestApp;
    let model: FakeOpenAI;
    let upstream: McpUpstream;
    let agentId: string;
    const processes: ServiceProcess[] = [];

    beforeAll(async () => {
      [backend, model, upstream] = await Promise.all([startBackend(), startFakeOpenAI(), startMcpUpstream({})]);
      api = await backend.start({ ...ENV, ROLE: 'api' });
      await serveTier(api, 'smart', model, { model: 'scripted' });
      upstream.tools['look'] = { annotations: { readOnlyHint: true }, handler: () => 'look done' };
      upstream.tools['send'] = { handler: () => 'send done' };
      const connections = [{ connection_id: await connect(api, upstream.url), approval: ['send'] }];
      agentId = await createAgent(api, [], { connections, expose_run: true });
    }, START_MS);

    afterAll(async () => {
      await Promise.all(processes.map((process) => process.kill('SIGKILL')));
      await backend?.close();
      await model?.close();
      await upstream?.close();
    });

    /** A process of its own, as its clients see it. */
    async function start(role = 'all'): Promise<{ service: ServiceProcess; at: Tenant }> {
      const service = new ServiceProcess({ ...backend.env, ...ENV, ROLE: role });
      processes.push(service);
      return { service, at: { ...api, url: (await service.listening()).url } };
    }

    /** Lets the tool begin its work and not answer. Returns what gives it its answers back. */
    function hang(tool: string): () => void {
      const original = upstream.tools[tool];
      if (original === undefined) throw new Error(`There is no tool ${tool}.`);
      upstream.tools[tool] = { ...original, handler: () => new Promise(() => undefined) };
      return () => (upstream.tools[tool] = original);
    }

    /** How many calls of the tool the run has made. */
    const callsOf = (tool: string, run: string): number =>
      upstream.calls.filter((call) => call.tool === tool && call.arguments['run'] === run).length;

    /** The only question of the task. */
    async function questionOf(at: Tenant, { taskId }: AskTask): Promise<string> {
      const { inputRequests = {} } = await untilTask(at, agentId, { taskId, status: 'input_required' });
      expect(Object.keys(inputRequests)).toHaveLength(1);
      return Object.keys(inputRequests)[0] ?? '';
    }

    async function answer(at: Tenant, { taskId }: AskTask, question: string): Promise<void> {
      const inputResponses = { [question]: YES };
      expect(taskIn(await requestTask(at, agentId, 'tasks/update', { taskId, inputResponses }))).toMatchObject({
        resultType: 'complete',
      });
    }

    /** The task has the same result in both processes, and its thread one question and one answer. */
    async function expectOneAnswer({ taskId }: AskTask, other: Tenant, attempt: number): Promise<void> {
      const { result } = await untilTask(api, agentId, { taskId, status: 'completed' });
      expect(result?.isError).toBeUndefined();
      expect(textIn(result)).toBe('The answer.');
      const again = await untilTask(other, agentId, { taskId, status: 'completed' });
      expect(again.result).toEqual(result);
      const { task_id: runId, thread_id: threadId } = idsIn(result);
      const thread = new ThreadClient(api, agentId, threadId);
      expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant']);
      expect(await thread.run(runId)).toMatchObject({ status: 'completed', attempt });
      await thread.expectAnswer(runId, await thread.collect(runId));
      const late = await requestTask(other, agentId, 'tasks/cancel', { taskId });
      expect(rpcOf(late).error).toBeUndefined();
      await untilTask(api, agentId, { taskId, status: 'completed' });
    }

    describe('ends in the answer, once, when its process is killed', () => {
      const tasks = {} as Record<'over' | 'model' | 'tool' | 'approval' | 'answered' | 'queued', AskTask>;
      const questions = {} as Record<'approval' | 'answered', string>;
      let next: Tenant;
      let older: { tasks: Client['experimental']['tasks']; taskId: string; waiting: Promise<CallToolResult> };
      const olderClients: Client[] = [];

      /** A task whose run gets these replies of the model, when `look` holds. */
      async function begin(at: Tenant, replies: Parameters<FakeOpenAI['script']>, look: () => unknown) {
        model.script(...replies);
        const task = await createTask(at, agentId, 'Which one?');
        await eventually(look);
        return task;
      }

      beforeAll(async () => {
        const { service, at } = await start();
        const runsIn = async (status: string): Promise<number> => {
          const { items } = await succeed<{ items: { status: string }[] }>(api, 'RUN_LIST', {});
          return items.filter((run) => run.status === status).length;
        };
        tasks.over = await begin(at, [ANSWER], async () => expect(await runsIn('completed')).toBe(1));
        tasks.approval = await begin(at, [callOf('send', 'approval')], () => undefined);
        questions.approval = await questionOf(at, tasks.approval);
        tasks.answered = await begin(at, [callOf('send', 'answered')], () => undefined);
        questions.answered = await questionOf(at, tasks.answered);

        const asked = model.requests.length;
        tasks.model = await begin(at, [TAKEN], () => expect(model.requests.length).toBe(asked + 1));
        model.script(TAKEN);
        const { client } = await openLegacy(at, `gateway/${agentId}`);
        olderClients.push(client);
        const call = { name: 'ask', arguments: { message: 'Which one?' }, task: {} };
        const { task } = await client.request({ method: 'tools/call', params: call }, CreateTaskResultSchema);
        client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema).catch(() => undefined);
        await eventually(() => expect(model.requests.length).toBe(asked + 2));

        const releaseSend = hang('send');
        await answer(at, tasks.answered, questions.answered);
        await eventually(() => expect(callsOf('send', 'answered')).toBe(1));
        const releaseLook = hang('look');
        tasks.tool = await begin(at, [callOf('look', 'tool')], () => expect(callsOf('look', 'tool')).toBe(1));
        await service.kill('SIGKILL');
        // No process executes runs now.
        const asking = await start('api');
        tasks.queued = await begin(asking.at, [], async () => expect(await runsIn('queued')).toBe(1));
        await asking.service.kill('SIGKILL');
        releaseLook();
        releaseSend();
        const { client: another } = await openLegacy(api, `gateway/${agentId}`);
        olderClients.push(another);
        const waiting = another.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
        waiting.catch(() => undefined);
        older = { tasks: another.experimental.tasks, taskId: task.taskId, waiting };
        await untilTask(api, agentId, { taskId: tasks.queued.taskId, status: 'working' });
        expect(await questionOf(api, tasks.approval)).toBe(questions.approval);
        // In each run, that is all that remains.
        model.script(...Array.from({ length: 6 }, () => ANSWER));
        next = (await start()).at;
      }, START_MS);

      afterAll(() => Promise.all(olderClients.map((client) => client.close())));

      it('while the run is queued', () => expectOneAnswer(tasks.queued, next, 1));

      it('while the model answers', () => expectOneAnswer(tasks.model, next, 2));

      it('while a tool is called', () => expectOneAnswer(tasks.tool, next, 2));

      it('while an approval waits, whose question stays the same', async () => {
        expect(await questionOf(next, tasks.approval)).toBe(questions.approval);
        await answer(next, tasks.approval, questions.approval);
        await expectOneAnswer(tasks.approval, next, 2);
        expect(callsOf('send', 'approval')).toBe(1);
      });

      it('between the answer to an approval and the result of its call, which is not repeated', async () => {
        // A client that does not know whether its answer has arrived sends it again.
        await answer(next, tasks.answered, questions.answered);
        await expectOneAnswer(tasks.answered, next, 3);
        expect(callsOf('send', 'answered')).toBe(1);
      });

      it('while a client of 2025-11-25 waits for the result, which another process then has', async () => {
        expect(textIn(await older.waiting)).toBe('The answer.');
        const { tasks: listed } = await older.tasks.listTasks();
        expect(listed).toMatchObject([{ taskId: older.taskId, status: 'completed' }]);
      });

      it('after the run is over, before the client has read the answer', () => expectOneAnswer(tasks.over, next, 1));
    });
  });
}
