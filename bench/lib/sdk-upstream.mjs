/**
 * An upstream of the benchmarks: an MCP server on the official TypeScript SDK whose tools return their text.
 * `node sdk-upstream.mjs <json | stream | stateless> <comma-separated tools> [<certificate file> <key file>]`; prints
 * `listening on <origin>`. `json` answers with JSON and `stream` with event streams, both in sessions; `stateless`
 * answers with event streams and has no sessions. With a certificate, the server speaks TLS.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const [mode, names, certificate, key] = process.argv.slice(2);
const tools = names.split(',').map((name) => ({
  name,
  description: 'Returns the given text.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 1000 }, times: { type: 'integer', minimum: 1, maximum: 10 } },
    required: ['text'],
    additionalProperties: false,
  },
}));
/** Transports by session id. */
const sessions = new Map();

async function handle(request, response) {
  if (mode === 'stateless') {
    // As the SDK documents it: a server for each request, and neither notifications nor sessions.
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const transport = await connect(new StreamableHTTPServerTransport({ sessionIdGenerator: undefined }));
    response.once('close', () => transport.close());
    return transport.handleRequest(request, response);
  }
  const id = request.headers['mcp-session-id'];
  if (id !== undefined && !sessions.has(id)) return void response.writeHead(404).end();
  await (sessions.get(id) ?? (await openSession())).handleRequest(request, response);
}

function openSession() {
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: mode === 'json',
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  return connect(transport);
}

async function connect(transport) {
  const mcp = new Server({ name: 'benchmark', version: '1' }, { capabilities: { tools: {} } });
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
  mcp.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: params.arguments.text }],
  }));
  await mcp.connect(transport);
  return transport;
}

const server =
  certificate === undefined
    ? createServer(handle)
    : createTlsServer({ cert: readFileSync(certificate), key: readFileSync(key) }, handle);
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address();
  console.log(`listening on ${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`);
});
process.once('SIGTERM', () => process.exit(0));
