import { describe, expect, it } from '@jest/globals';
import { LONG, succeed } from '../../support/agent-runs.js';
import { eventually } from '../../support/eventually.js';
import { type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { keyWith } from '../../support/proxy-connections.js';
import { WITH_TASKS } from '../../support/task-upstream.js';
import {
  type AskTask,
  createTask,
  idsIn,
  requestTask,
  taskIn,
  textIn,
  untilTask,
  useGreetingServer,
} from './ask.support.js';

const { app, other, exposed, asking } = useGreetingServer();

describe('the tool that runs an agent, as a task', () => {
  const request = (agentId: string, method: string, params: object, key?: string): Promise<ProxyAnswer> =>
    requestTask(app, agentId, method, params, key);
  const create = (agentId: string, message: string, key?: string): Promise<AskTask> =>
    createTask(app, agentId, message, key);
  const untilStatus = (agentId: string, taskId: string, status: string, at = app): Promise<AskTask> =>
    untilTask(at, agentId, { taskId, status });

  it('is announced, answers at once, and ends with the result, in any process', async () => {
    const agentId = await exposed();
    const described = rpcOf(await request(agentId, 'server/discover', {})).result as { capabilities: object };
    expect(described.capabilities).toMatchObject(WITH_TASKS);
    const { taskId } = await create(agentId, 'Hello');
    const { result } = await untilStatus(agentId, taskId, 'completed', other);
    expect(textIn(result)).toBe('You said: Hello');
    const failed = await create(agentId, '/fail broken');
    expect((await untilStatus(agentId, failed.taskId, 'completed')).result?.isError).toBe(true);
  });

  it('asks for approvals, which need RUN_APPROVE', async () => {
    const agentId = await asking();
    const poster = await keyWith(app, { [agentId]: ['*'] });
    const waits = await create(agentId, '/call greet {"text":"a"}', poster);
    const shown = await eventually(async () => {
      const task = taskIn(await request(agentId, 'tasks/get', { taskId: waits.taskId }, poster));
      expect(task.statusMessage).toContain('greet');
      return task;
    });
    expect(shown).toMatchObject({ status: 'working' });
    expect(shown.inputRequests).toBeUndefined();
    const denied = await request(agentId, 'tasks/update', { taskId: waits.taskId, inputResponses: {} }, poster);
    expect(rpcOf(denied).error?.data.code).toBe('permission_denied');

    for (const [response, text] of [
      [{ action: 'accept', content: { approve: true } }, 'greet says a'],
      [{ action: 'accept', content: { approve: false, reason: 'Too late.' } }, 'Too late.'],
      [{ action: 'decline' }, 'denied'],
    ] as const) {
      const { taskId } = await create(agentId, '/call greet {"text":"a"}');
      const { inputRequests = {} } = await untilStatus(agentId, taskId, 'input_required');
      const [[key = '', question] = []] = Object.entries(inputRequests);
      expect(question?.params.message).toContain('{"text":"a"}');
      const update = async (inputResponses: object): Promise<ProxyAnswer> =>
        request(agentId, 'tasks/update', { taskId, inputResponses });
      for (const ignored of [{}, { unknown: response }, { [key]: { action: 'cancel' } }]) {
        expect(taskIn(await update(ignored))).toMatchObject({ resultType: 'complete' });
      }
      const unsaid = { [key]: { content: { approve: true } } };
      for (const wrong of [{ [key]: { action: 'accept', content: {} } }, { [key]: 7 }, unsaid]) {
        expect(rpcOf(await update(wrong)).error?.code).toBe(-32602);
      }
      await untilStatus(agentId, taskId, 'input_required');
      expect(taskIn(await update({ [key]: response }))).toMatchObject({ resultType: 'complete' });
      expect(taskIn(await update({ [key]: { action: 'decline' } }))).toMatchObject({ resultType: 'complete' });
      const { result } = await untilStatus(agentId, taskId, 'completed');
      const transcript = await app.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: idsIn(result).thread_id });
      expect(JSON.stringify(transcript.body)).toContain(text);
    }
  });

  it('is cancelled with its run', async () => {
    const agentId = await exposed();
    const { taskId } = await create(agentId, LONG);
    for (let times = 0; times < 2; times++) {
      expect(taskIn(await request(agentId, 'tasks/cancel', { taskId }))).toMatchObject({ resultType: 'complete' });
    }
    expect((await untilStatus(agentId, taskId, 'cancelled')).result).toBeUndefined();
  });

  it('is not known to others, elsewhere, or once its thread is deleted', async () => {
    const agentId = await exposed();
    const { taskId } = await create(agentId, 'Hello');
    const { result } = await untilStatus(agentId, taskId, 'completed');
    const neighbour = await keyWith(app, { [agentId]: ['*'] });
    const elsewhere = await exposed();
    const codeOf = (answer: ProxyAnswer): number | undefined => rpcOf(answer).error?.code;
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      const params = { taskId, inputResponses: {} };
      expect(codeOf(await request(agentId, method, params, neighbour))).toBe(-32602);
      expect(codeOf(await request(elsewhere, method, params))).toBe(-32602);
      expect(codeOf(await request(agentId, method, { ...params, taskId: idsIn(result).task_id }))).toBe(-32602);
    }
    await succeed(app, 'COLLECTION_THREADS_DELETE', { id: idsIn(result).thread_id });
    expect(codeOf(await request(agentId, 'tasks/get', { taskId }))).toBe(-32602);
  });
});
