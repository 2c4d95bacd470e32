/**
 * The upstream of `bench:proxy --upstream sdk`: an MCP server with sessions on the official SDK, which answers every call with
 * an event stream and ends the stream shortly afterwards. Prints `listening on <origin>`.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

const ECHO = {
  name: 'echo',
  description: 'Returns the given text.',
  inputSchema: {
    type: 'object',
    properties: { text: { type: 'string', maxLength: 1000 }, times: { type: 'integer', minimum: 1, maximum: 10 } },
    required: ['text'],
    additionalProperties: false,
  },
};
/** Transports by session id. */
const sessions = new Map();

const server = createServer(async (request, response) => {
  const id = request.headers['mcp-session-id'];
  if (id !== undefined && !sessions.has(id)) return void response.writeHead(404).end();
  await (sessions.get(id) ?? (await openSession())).handleRequest(request, response);
});

async function openSession() {
  const mcp = new Server({ name: 'proxy-benchmark', version: '1' }, { capabilities: { tools: {} } });
  mcp.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [ECHO] }));
  mcp.setRequestHandler(CallToolRequestSchema, ({ params }) => ({
    content: [{ type: 'text', text: params.arguments.text }],
  }));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await mcp.connect(transport);
  return transport;
}

server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
process.once('SIGTERM', () => process.exit(0));
