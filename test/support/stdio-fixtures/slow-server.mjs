// A server made with the SDK, of the legacy era, or of the modern one with the option `--modern`. Its tools:
//   slow   is never answered
//   asks   needs a client that people can be asked through (modern era)
// It appends `called` to the file that its first argument names for each call of slow(), and `cancelled` when one is
// cancelled.
import { appendFileSync } from 'node:fs';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const [ledger] = process.argv.slice(2);
const INFO = { name: 'slow', version: '1' };

function neverEnds(signal) {
  appendFileSync(ledger, 'called\n');
  signal.addEventListener('abort', () => appendFileSync(ledger, 'cancelled\n'), { once: true });
  return new Promise(() => undefined);
}

function modern() {
  const server = new McpServer(INFO);
  server.registerTool('slow', {}, ({ mcpReq }) => neverEnds(mcpReq.signal));
  const name = inputRequired.elicit({
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  });
  server.registerTool('asks', {}, async () => inputRequired({ inputRequests: { name } }));
  return server;
}

if (process.argv.includes('--modern')) serveStdio(modern, { legacy: 'reject' });
else {
  const server = new LegacyServer(INFO);
  server.registerTool('slow', {}, ({ signal }) => neverEnds(signal));
  await server.connect(new StdioServerTransport());
}
