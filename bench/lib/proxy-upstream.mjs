/**
 * The upstream of the proxy benchmark: a minimal MCP server (2025-11-25, sessions, one tool `echo`) on bare node:http.
 * Prints `listening on <origin>`. It answers 404 to a call without one of its sessions, so that no measured target can
 * omit the session.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const JSON_TYPE = { 'content-type': 'application/json' };
const PROTOCOL_VERSION = '2025-11-25';
const ECHO = {
  name: 'echo',
  description: 'Returns the given text.',
  inputSchema: {
    type: 'object',
    properties: {
      text: { type: 'string', minLength: 1, maxLength: 1000 },
      times: { type: 'integer', minimum: 1, maximum: 10 },
      tone: { enum: ['plain', 'loud'] },
    },
    required: ['text'],
    additionalProperties: false,
  },
};
const sessions = new Set();

const ANSWERS = {
  initialize: () => ({
    protocolVersion: PROTOCOL_VERSION,
    capabilities: { tools: {} },
    serverInfo: { name: 'proxy-benchmark', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [ECHO] }),
  'tools/call': ({ arguments: { text } }) => ({ content: [{ type: 'text', text }] }),
};

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (text) => {
    body += text;
  });
  request.on('end', () => answer(request, response, body));
});

function answer({ method, headers }, response, body) {
  if (method === 'GET') return void response.writeHead(405).end();
  if (method === 'DELETE') return void response.writeHead(200).end();
  const { id, method: name, params } = JSON.parse(body);
  if (name === 'initialize') {
    const session = randomUUID();
    sessions.add(session);
    return send(response, { jsonrpc: '2.0', id, result: ANSWERS.initialize() }, { 'mcp-session-id': session });
  }
  if (ANSWERS[name] === undefined && id !== undefined) {
    return send(response, { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } });
  }
  if (!sessions.has(headers['mcp-session-id'])) return void response.writeHead(404).end();
  if (id === undefined) return void response.writeHead(202).end();
  send(response, { jsonrpc: '2.0', id, result: ANSWERS[name](params) });
}

function send(response, message, headers) {
  const text = JSON.stringify(message);
  response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(text), ...headers }).end(text);
}

server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => process.exit(0));
