import type { ServerResponse } from 'node:http';
import {
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendJson,
  SSE_TYPE,
  startScripted,
} from './scripted-upstream.js';

/** The extension of 2026-07-28. */
export const TASKS = 'io.modelcontextprotocol/tasks';
/** The declaration of a modern client that supports tasks. */
export const WITH_TASKS = { extensions: { [TASKS]: {} } };

interface TaskUpstream extends ScriptedServer {
  /** The tasks that it knows, by id. */
  readonly tasks: Map<string, object>;
}

interface Options {
  /** Of 2026-07-28; otherwise of 2025-11-25. */
  readonly isModern: boolean;
  /** Creates tasks for clients that have not asked for them. */
  readonly isStubborn?: boolean;
  /** Without tasks, and says so. */
  readonly isPlain?: boolean;
  /** Sent as text with the result of every task. */
  readonly result?: string;
  /** Answers in event streams. */
  readonly streams?: boolean;
  /** The id of the next task. */
  readonly nextId?: (count: number) => string;
}

const inputSchema = { type: 'object' };
const NAMES = ['work', 'other', 'everyones'];
const PUBLIC = { 'mcp.service': { public_tool: true } };
const TIMES = { createdAt: '2026-11-26T00:00:00Z', lastUpdatedAt: '2026-11-26T00:00:00Z' };

/**
 * A server whose tools answer with a task where the client supports it, and at once for others. A task waits for input
 * until it is updated or cancelled. Like many servers, it does not tell its callers apart: a subscription gets a
 * notification about every task, and then ends.
 */
export async function startTaskUpstream(options: Options): Promise<TaskUpstream> {
  const { isModern, isStubborn = false, isPlain = false, result = 'done', streams = false } = options;
  const { nextId = (count: number) => `task-${count}` } = options;
  const tasks = new Map<string, object>();
  let count = 0;
  const answer = (message: RpcMessage): object => {
    const { method, params = {} } = message;
    const meta = params['_meta'] as Record<string, { extensions?: object } | undefined> | undefined;
    const declared = meta?.['io.modelcontextprotocol/clientCapabilities']?.extensions ?? {};
    const taskId = String(params['taskId']);
    if (method === 'tools/list') return { tools: NAMES.map(toolNamed), ttlMs: 0, cacheScope: 'private' };
    if (method === 'tools/call') {
      const mayMakeTask = isModern ? TASKS in declared : params['task'] !== undefined;
      if (isPlain || (!mayMakeTask && !isStubborn)) return { content: [{ type: 'text', text: 'at once' }] };
      const made = { ...TIMES, taskId: nextId(count++), status: 'input_required', ttlMs: 60_000 };
      tasks.set(made.taskId, { ...made, inputRequests: { name: { method: 'elicitation/create', params: {} } } });
      return isModern ? { ...made, resultType: 'task', status: 'working' } : { task: made };
    }
    const task = tasks.get(taskId);
    if (task === undefined) throw new Error('Task not found');
    const content = [{ type: 'text', text: result }];
    if (method === 'tasks/update') tasks.set(taskId, { ...task, status: 'completed', result: { content } });
    if (method === 'tasks/cancel') tasks.set(taskId, { ...task, status: 'cancelled' });
    return method === 'tasks/get' ? task : {};
  };
  const notify = ({ id, params }: RpcMessage, response: ServerResponse): void => {
    const send = (message: object): boolean =>
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    response.writeHead(200, SSE_TYPE);
    const notifications = params?.['notifications'];
    send({ method: 'notifications/subscriptions/acknowledged', params: { notifications } });
    for (const task of tasks.values()) send({ method: 'notifications/tasks', params: task });
    send({ method: 'notifications/tools/list_changed', params: {} });
    send({ id, result: { resultType: 'complete' } });
    response.end();
  };
  const respond: Parameters<typeof startScripted>[0] = ({ message }, response) => {
    if (message.method === 'subscriptions/listen') return notify(message, response);
    const body = { jsonrpc: '2.0', id: message.id };
    try {
      Object.assign(body, { result: { resultType: 'complete', ...answer(message) } });
    } catch (error) {
      Object.assign(body, { error: { code: -32602, message: String(error) } });
    }
    if (!streams) return sendJson(response, body);
    response.writeHead(200, SSE_TYPE);
    return void response.end(`data: ${JSON.stringify(body)}\n\n`);
  };
  const legacy = legacyServer(respond);
  const server = await startScripted((request, response) => {
    const { message, headers } = request;
    if (!isModern) return legacy.script(request, response);
    const { taskId } = message.params ?? {};
    if (taskId !== undefined && headers['mcp-name'] !== taskId) return void response.writeHead(400).end();
    if (message.method !== 'server/discover') return respond(request, response);
    const capabilities = { tools: {}, ...(!isPlain && WITH_TASKS) };
    const described = { supportedVersions: ['2026-07-28'], capabilities, ttlMs: 0, cacheScope: 'private' };
    return sendJson(response, { jsonrpc: '2.0', id: message.id, result: { resultType: 'complete', ...described } });
  });
  return Object.assign(server, { tasks });
}

function toolNamed(name: string): object {
  return { name, inputSchema, ...(name === 'everyones' && { _meta: PUBLIC }) };
}
