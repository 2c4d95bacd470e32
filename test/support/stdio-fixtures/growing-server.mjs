// A server made with the SDK that grows by the tool `second` a while after `first` was called: of the legacy era, or of
// the modern one with the option `--modern`.
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

const INFO = { name: 'growing', version: '1' };
const say = (text) => ({ content: [{ type: 'text', text }] });

function growing(server) {
  server.registerTool('first', {}, async () => {
    void sleep(100).then(() => server.registerTool('second', {}, async () => say('second')));
    return say('first');
  });
  return server;
}

if (process.argv.includes('--modern')) serveStdio(() => growing(new McpServer(INFO)), { legacy: 'reject' });
else await growing(new LegacyServer(INFO)).connect(new StdioServerTransport());
