// A small server of the modern era (2026-07-28) over stdio without the SDK, so that it can do what no SDK would. Its
// tools:
//   misbehave  before its answer, prints messages for requests and subscriptions that nobody has made: answers,
//              progress, list changes and requests, and those of its argument `ids` as well; and progress that its
//              caller has not asked for
//   flood      prints `times` notifications for the subscription that is open
//   open       tells the id of the subscription that is open
//   work       makes a task for clients with the extension; everybody can ask for every task
import { createInterface } from 'node:readline';

const print = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const complete = (result) => ({ resultType: 'complete', ...result });
const ABOUT = 'io.modelcontextprotocol/subscriptionId';
const NOW = new Date().toISOString();
const TASKS = 'io.modelcontextprotocol/tasks';
const declared = (params) => params._meta['io.modelcontextprotocol/clientCapabilities'].extensions ?? {};
const task = (taskId, status) => ({ taskId, status, createdAt: NOW, lastUpdatedAt: NOW, ttlMs: 60_000 });
const updated = (id, uri) =>
  print({ method: 'notifications/resources/updated', params: { uri, _meta: { [ABOUT]: id } } });
let open = null;

const say = (text) => ({ content: [{ type: 'text', text }] });
const tools = {
  work: (_args, params) =>
    TASKS in declared(params) ? { resultType: 'task', ...task('task-1', 'working') } : 'at once',
  open: () => String(open),
  flood: ({ times }) => {
    for (let time = 0; time < times; time++) updated(open, `note://${time}/${'x'.repeat(1000)}`);
    return 'flooded';
  },
  misbehave: ({ ids = [] }, _params, own) => {
    print({ method: 'notifications/progress', params: { progressToken: own, progress: 1, message: 'foreign' } });
    for (const id of [...ids, 'nobody', 7, null, '']) {
      if (id !== null) print({ id, result: complete({ content: [{ type: 'text', text: 'foreign' }] }) });
      updated(id, 'note://foreign');
      print({ method: 'notifications/progress', params: { progressToken: id, progress: 1, message: 'foreign' } });
      print({ id: `asks ${id}`, method: 'roots/list' });
    }
    print({ method: 'notifications/tools/list_changed' });
    print({ method: 'notifications/message', params: { level: 'info', data: 'foreign' } });
    return 'misbehaved';
  },
};
const handlers = {
  'server/discover': () => ({
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, resources: { subscribe: true }, extensions: { [TASKS]: {} } },
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'raw-modern', version: '1' } },
  }),
  'tools/list': () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' } })),
    ttlMs: 0,
    cacheScope: 'private',
  }),
  'tools/call': ({ params, id }) => {
    const answer = tools[params.name](params.arguments ?? {}, params, id);
    return typeof answer === 'string' ? say(answer) : answer;
  },
  'tasks/get': ({ params: { taskId } }) => ({ ...task(taskId, 'completed'), result: say('worked') }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  const { id, method, params } = message;
  if (method === 'subscriptions/listen') {
    open = id;
    const { notifications } = params;
    const about = { _meta: { [ABOUT]: id } };
    print({ method: 'notifications/subscriptions/acknowledged', params: { notifications, ...about } });
    for (const one of notifications.taskIds ?? []) {
      print({ method: 'notifications/tasks', params: { ...task(one, 'working'), ...about } });
    }
    return undefined;
  }
  if (method === 'notifications/cancelled' && params.requestId === open) open = null;
  if (id === undefined || method === undefined) return undefined;
  const handler = handlers[method];
  if (handler === undefined) return print({ id, error: { code: -32601, message: 'Method not found' } });
  return print({ id, result: complete(handler(message)) });
});
