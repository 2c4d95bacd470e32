// A server made with the SDK, of the legacy era or with `--modern` of the modern one. With `--http` it serves
// streamable HTTP, and prints its port. It has:
//   the tool slow     is never answered
//   the prompt slow   neither
//   the tool asks     needs a client that people can be asked through (modern era)
//   the tool visits   asks that people open a page, until there is `visited` in the file (legacy era)
//   the prompt visits does too
// It appends `called` to the file that its first argument names when a request is not answered, and `cancelled` when
// one of them is cancelled.
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { UrlElicitationRequiredError } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { listenLegacy } from './legacy-http.mjs';
import { listenModern } from './modern-http.mjs';

const [ledger, ...options] = process.argv.slice(2);
const isModern = options.includes('--modern');
const INFO = { name: 'slow', version: '1' };

function neverEnds(signal) {
  appendFileSync(ledger, 'called\n');
  signal.addEventListener('abort', () => appendFileSync(ledger, 'cancelled\n'), { once: true });
  return new Promise(() => undefined);
}

function requireVisit() {
  if (existsSync(ledger) && readFileSync(ledger, 'utf8').includes('visited')) return;
  const page = { mode: 'url', elicitationId: randomUUID(), url: 'https://a.example/visit', message: 'Visit it' };
  throw new UrlElicitationRequiredError([page]);
}

function legacy() {
  const server = new LegacyServer(INFO);
  server.registerTool('slow', {}, ({ signal }) => neverEnds(signal));
  server.registerPrompt('slow', {}, ({ signal }) => neverEnds(signal));
  server.registerTool('visits', {}, async () => {
    requireVisit();
    return { content: [{ type: 'text', text: 'seen' }] };
  });
  server.registerPrompt('visits', {}, async () => {
    requireVisit();
    return { messages: [{ role: 'user', content: { type: 'text', text: 'seen' } }] };
  });
  return server;
}

function modern() {
  const server = new McpServer(INFO);
  server.registerTool('slow', {}, ({ mcpReq }) => neverEnds(mcpReq.signal));
  server.registerPrompt('slow', {}, ({ mcpReq }) => neverEnds(mcpReq.signal));
  const name = inputRequired.elicit({
    message: 'Who?',
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } } },
  });
  server.registerTool('asks', {}, async () => inputRequired({ inputRequests: { name } }));
  return server;
}

const handler = createMcpHandler(modern, { legacy: 'reject' });

if (options.includes('--http') && isModern) listenModern(handler);
else if (options.includes('--http')) listenLegacy(legacy);
else if (isModern) serveStdio(modern, { legacy: 'reject' });
else await legacy().connect(new StdioServerTransport());
