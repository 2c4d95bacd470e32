import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DomainError } from '../../../src/core/domain-error.js';
import { AskedTasks } from '../../../src/proxy/agent-server/ask/asked-tasks.repository.js';
import { RunResultService } from '../../../src/runtime/turns/run-result.service.js';
import { succeed } from '../../support/agent-runs.js';
import { startTestApp } from '../../support/app.js';
import { openModern } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, callThrough, gatewayPath } from '../../support/gateway-agents.js';
import { callProxy, rpc, TAKES_STREAMS } from '../../support/proxy-calls.js';
import { connectTo } from '../../support/proxy-connections.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { idsIn, requestTask, textIn } from './ask.support.js';
import { useStarted } from '../../support/use-started.js';

const AWAY = new Error('Connection terminated');

const app = useStarted(startTestApp);
let server: ToolServer;
let agentId: string;
beforeAll(async () => {
  server = await startToolServer('greet');
  const connection_id = await connectTo(app, server.url);
  agentId = await agentOf(app, [{ connection_id, approval: 'all' } as never], { expose_run: true });
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(async () => {
  await server?.close();
});

const untilRun = (id: string, status: string): Promise<void> =>
  eventually(async () =>
    expect((await succeed<{ item: object }>(app, 'RUN_GET', { id })).item).toMatchObject({ status }),
  );

describe('the tool that runs an agent, while something is away', () => {
  it('asks a client once there is memory for the questions', async () => {
    const client = await openModern(app, `gateway/${agentId}`, { elicitation: { form: {} } });
    client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { approve: true } }));
    const pending = jest
      .spyOn(RunResultService.prototype, 'pendingOf')
      .mockRejectedValueOnce(new DomainError('answer_memory_exhausted'));
    const result = await client.callTool({ name: 'ask', arguments: { message: '/call greet {"text":"a"}' } });
    expect(textIn(result)).toContain('greet says a');
    await expect(pending.mock.results[0]?.value).rejects.toMatchObject({ code: 'answer_memory_exhausted' });
    await client.close();
  });

  it('names the run of a call that cannot be answered', async () => {
    jest.spyOn(RunResultService.prototype, 'findReadable').mockRejectedValueOnce(AWAY);
    const { rpc: answered } = await callThrough(app, gatewayPath(app, agentId), 'ask', { message: '/wait 300\nhello' });
    expect(textIn(answered.result)).toContain('"code":"storage_unavailable"');
    const { task_id: runId, thread_id: threadId } = idsIn(answered.result);
    expect(answered.result?.content?.at(-1)?.text).toBe(`thread_id: ${threadId}`);
    await untilRun(runId, 'completed');
  });

  it.each<[string, () => unknown]>([
    ['2026-07-28', () => jest.spyOn(RunResultService.prototype, 'findReadable').mockRejectedValueOnce(AWAY)],
    ['2025-11-25', () => jest.spyOn(AskedTasks.prototype, 'insert').mockRejectedValueOnce(AWAY)],
  ])('cancels the run of a task whose client of %s gets no handle', async (era, fail) => {
    fail();
    const call = { name: 'ask', arguments: { message: '/wait 60000' } };
    const { status } =
      era === '2026-07-28'
        ? await requestTask(app, agentId, 'tools/call', call)
        : await callProxy(app, gatewayPath(app, agentId), {
            key: app.apiKey,
            headers: TAKES_STREAMS,
            body: rpc('tools/call', { ...call, task: {} }),
          });
    expect(status).toBe(503);
    const { items } = await succeed<{ items: { id: string }[] }>(app, 'RUN_LIST', { limit: 1 });
    await untilRun(items[0]?.id ?? '', 'cancelled');
  });
});
