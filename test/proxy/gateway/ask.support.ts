import { afterAll, beforeAll, expect } from '@jest/globals';
import { modernRequest } from '../../support/era-clients.js';
import { eventually } from '../../support/eventually.js';
import { agentOf, gatewayPath } from '../../support/gateway-agents.js';
import { connectTo } from '../../support/proxy-connections.js';
import { callProxy, type ProxyAnswer, rpcOf } from '../../support/proxy-calls.js';
import { WITH_TASKS } from '../../support/task-upstream.js';
import type { Tenant } from '../../support/tenant.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { useTenantOfTwo } from '../../support/use-started.js';

/** The answer of the tool that runs an agent. */
export interface ToolAnswer {
  readonly isError?: boolean;
  readonly content: { readonly type: string; readonly text: string }[];
  readonly structuredContent?: object;
  readonly _meta?: { 'mcp.service'?: { task_id: string; thread_id: string } };
}

/** A question of a run, as clients are asked. */
export interface AskedQuestion {
  readonly method: string;
  readonly params: { readonly message: string };
}

/** A run as a task of a modern client. */
export interface AskTask {
  readonly resultType?: string;
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly inputRequests?: Record<string, AskedQuestion>;
  readonly result?: ToolAnswer;
}

/** Two processes of one service, and a server with the tool `greet`, for the spec file that calls this. */
export function useGreetingServer() {
  const [app, other] = useTenantOfTwo();
  let server: ToolServer;
  let connectionId: string;
  beforeAll(async () => {
    server = await startToolServer('greet');
    connectionId = await connectTo(app, server.url);
  });
  afterAll(() => server?.close());
  return {
    app,
    other,
    get connectionId() {
      return connectionId;
    },
    /** An agent that is a tool. */
    exposed: (more: object = {}): Promise<string> => agentOf(app, [connectionId], { expose_run: true, ...more }),
    /** One that asks for approvals. */
    asking: (): Promise<string> =>
      agentOf(app, [{ connection_id: connectionId, approval: 'all' } as never], { expose_run: true }),
  };
}

export const textIn = (result: unknown): string | undefined => (result as ToolAnswer).content[0]?.text;
export const idsIn = (result: unknown) =>
  (result as ToolAnswer)._meta?.['mcp.service'] ?? { task_id: '', thread_id: '' };

/** What an agent answers to a modern client with tasks. */
export function requestTask(
  app: Tenant,
  agentId: string,
  method: string,
  params: object,
  key = app.apiKey,
): Promise<ProxyAnswer> {
  const { taskId } = params as { taskId?: string };
  const headers = taskId === undefined ? {} : { 'mcp-name': taskId };
  const asked = modernRequest(method, { ...params }, { capabilities: WITH_TASKS, headers });
  return callProxy(app, gatewayPath(app, agentId), { key, ...asked });
}

export const taskIn = (answer: ProxyAnswer): AskTask => rpcOf(answer).result as unknown as AskTask;

/** Calls `ask` as a task. */
export async function createTask(app: Tenant, agentId: string, message: string, key?: string): Promise<AskTask> {
  const call = { name: 'ask', arguments: { message } };
  const task = taskIn(await requestTask(app, agentId, 'tools/call', call, key));
  // A short run can be over by then.
  const status = expect.stringMatching(/^(working|completed)$/);
  expect(task).toMatchObject({ resultType: 'task', status, ttlMs: null, pollIntervalMs: 1000 });
  return task;
}

export function untilTask(
  app: Tenant,
  agentId: string,
  { taskId, status }: { taskId: string; status: string },
  key?: string,
): Promise<AskTask> {
  return eventually(async () => {
    const task = taskIn(await requestTask(app, agentId, 'tasks/get', { taskId }, key));
    expect(task).toMatchObject({ resultType: 'complete', taskId, status });
    return task;
  });
}
