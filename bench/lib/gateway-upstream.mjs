/**
 * An upstream of the gateway benchmark: an MCP server (2025-11-25, no sessions) on bare node:http whose tools `tool_0`,
 * … return their input. Arguments: the number of tools, and the milliseconds that it takes to list them. Prints
 * `listening on <origin>`.
 */
import { createServer } from 'node:http';

const [count, listMs] = process.argv.slice(2).map(Number);
const properties = { text: { type: 'string', maxLength: 1000 }, times: { type: 'integer', minimum: 1 } };
const tools = Array.from({ length: count }, (_, i) => ({
  name: `tool_${i}`,
  description: 'Returns the given text. '.repeat(8).trim(),
  inputSchema: { type: 'object', properties, required: ['text'], additionalProperties: false },
}));

const ANSWERS = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'gateway-benchmark', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text }] }),
};

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  request.on('end', () => answer(request.method, response, body));
});

function answer(method, response, body) {
  if (method !== 'POST') return void response.writeHead(405).end();
  const { id, method: name, params } = JSON.parse(body);
  if (id === undefined) return void response.writeHead(202).end();
  const result = ANSWERS[name]?.(params);
  const outcome = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result };
  const text = JSON.stringify({ jsonrpc: '2.0', id, ...outcome });
  const send = () =>
    response
      .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      .end(text);
  if (name === 'tools/list' && listMs > 0) setTimeout(send, listMs);
  else send();
}

server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => process.exit(0));
