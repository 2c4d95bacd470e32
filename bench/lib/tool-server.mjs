/** An MCP server (2025-11-25, no sessions) on bare node:http, for upstreams of benchmarks. */
import { createServer } from 'node:http';

/**
 * Listens on a free port, and prints `listening on <origin>`.
 * @param call the result of a call, by its parameters
 * @param listMs how long it takes to list the tools
 */
export function serveTools({ name, tools, call, listMs = 0 }) {
  const answers = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name, version: '1' },
    }),
    'tools/list': () => ({ tools }),
    'tools/call': call,
  };

  function answer(method, response, body) {
    if (method !== 'POST') return void response.writeHead(405).end();
    const { id, method: asked, params } = JSON.parse(body);
    if (id === undefined) return void response.writeHead(202).end();
    const result = answers[asked]?.(params);
    const outcome = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
    const text = JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const send = () => response.writeHead(200, headers).end(text);
    if (asked === 'tools/list' && listMs > 0) setTimeout(send, listMs);
    else send();
  }

  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => {
      body += text;
    });
    request.on('end', () => answer(request.method, response, body));
  });
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
  process.once('SIGTERM', () => process.exit(0));
}
