// A server of the modern era (2026-07-28) that refuses the legacy one, made with the SDK.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(
  () => {
    const server = new McpServer({ name: 'modern-only', version: '1' });
    server.registerTool('pid', {}, async () => ({ content: [{ type: 'text', text: String(process.pid) }] }));
    return server;
  },
  { legacy: 'reject' },
);
