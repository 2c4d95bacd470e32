// A server of the modern era (2026-07-28), made with the SDK.
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(() => {
  const server = new McpServer({ name: 'modern', version: '1' }, { instructions: 'Be modern.' });
  const inputSchema = fromJsonSchema({ type: 'object', properties: { text: { type: 'string' } } });
  server.registerTool('echo', { inputSchema }, async ({ text }) => ({ content: [{ type: 'text', text }] }));
  return server;
});
