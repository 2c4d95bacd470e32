// The MCP server that fuzzed STDIO connections run.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

serveStdio(() => {
  const server = new McpServer({ name: 'fuzz-program', version: '1' });
  server.registerTool('echo', {}, () => ({ content: [{ type: 'text', text: process.argv.slice(2).join(' ') }] }));
  return server;
});
