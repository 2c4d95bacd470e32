import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const TOOLS = ['echo', 'slow'].map((name) => ({
  name,
  inputSchema: { type: 'object', properties: { ms: { type: 'integer' } } },
  annotations: { readOnlyHint: true },
}));
const INITIALIZED = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'soak', version: '1' },
};

/**
 * An MCP server (2025-11-25, with sessions) that counts what its clients have not ended. `slow` answers after `ms`
 * milliseconds.
 * @returns {Promise<{ url: string, sessions: Set<string>, waiting: () => number, close(): Promise<void> }>}
 */
export async function startUpstream() {
  const sessions = new Set();
  let waiting = 0;
  const server = createServer(async (request, response) => {
    const session = request.headers['mcp-session-id'];
    if (request.method === 'GET') return response.writeHead(405).end();
    if (request.method === 'DELETE') {
      sessions.delete(session);
      return response.writeHead(200).end();
    }
    const { id, method, params } = JSON.parse((await request.toArray()).join(''));
    const send = (result, headers = {}) =>
      response
        .writeHead(200, { 'content-type': 'application/json', ...headers })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    if (method === 'initialize') {
      const opened = randomUUID();
      sessions.add(opened);
      return send(INITIALIZED, { 'mcp-session-id': opened });
    }
    if (!sessions.has(session)) return response.writeHead(404).end();
    if (id === undefined) return response.writeHead(202).end();
    if (method === 'tools/list') return send({ tools: TOOLS });
    if (params?.name !== 'slow') return send({ content: [{ type: 'text', text: 'done' }] });
    waiting++;
    const timer = setTimeout(() => send({ content: [{ type: 'text', text: 'done' }] }), params.arguments.ms);
    response.once('close', () => {
      clearTimeout(timer);
      waiting--;
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/mcp`,
    sessions,
    waiting: () => waiting,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
