// A server of the legacy era, made with the SDK, whose calls ask the client. It serves stdio, or with `--http`
// streamable HTTP with sessions, and prints its port. The answers of the client are the text of the result.
//   tool ask        a form
//   tool aside      a form, not as part of the answer to the call
//   tool again      two forms, one after the other, with progress and a log message around each
//   tool together   a form, a completion by a model, and the roots, at once
//   tool wait       is never answered
//   tool visit      a page
//   tool read       a form; it declares that it only reads, and is public
//   tool recall     a form, which the tool take takes back
//   tool hurry      a form, whose answer it does not wait for
//   tool die        a form, after which the program ends
//   tool plain      asks nothing; its result is what the client declares, and the id of the process
//   prompt ask, resource ask://one   a form
//   prompt plain    asks nothing; its text, and the completion of its argument, is the id of the process
// It appends `began` to the file that its first argument names when a call of a tool begins, and `cancelled` when one
// is cancelled.
import { appendFileSync } from 'node:fs';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { listenLegacy } from './legacy-http.mjs';

const [ledger, ...options] = process.argv.slice(2);
const FORM = { type: 'object', properties: { name: { type: 'string' } } };
const form = (message) => ({ method: 'elicitation/create', params: { mode: 'form', message, requestedSchema: FORM } });
const COMPLETION = {
  method: 'sampling/createMessage',
  params: { messages: [{ role: 'user', content: { type: 'text', text: 'Say it' } }], maxTokens: 9 },
};
const PAGE = { mode: 'url', elicitationId: 'page-1', url: 'https://a.example/visit', message: 'Visit it' };
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

function server() {
  const server = new McpServer({ name: 'asking', version: '1' }, { capabilities: { logging: {} } });
  const asking = (handler) => async (extra) => {
    appendFileSync(ledger, 'began\n');
    extra.signal.addEventListener('abort', () => appendFileSync(ledger, 'cancelled\n'), { once: true });
    return text(await handler(extra));
  };
  const taking = new AbortController();
  const ask = (extra, request = form('Who?')) => extra.sendRequest(request, ElicitResultSchema);
  server.registerTool(
    'ask',
    {},
    asking((extra) => ask(extra)),
  );
  server.registerTool(
    'aside',
    {},
    asking(() => server.server.elicitInput(form('Who?').params)),
  );
  server.registerTool(
    'again',
    {},
    asking(async (extra) => {
      const answers = [];
      for (const progress of [1, 2]) {
        const { progressToken } = extra._meta ?? {};
        if (progressToken !== undefined) {
          await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress } });
        }
        const params = { level: 'info', data: `round ${progress}` };
        await extra.sendNotification({ method: 'notifications/message', params });
        answers.push(await ask(extra, form(`Question ${progress}`)));
      }
      return answers;
    }),
  );
  server.registerTool(
    'together',
    {},
    asking((extra) =>
      Promise.all([
        ask(extra),
        extra.sendRequest(COMPLETION, CreateMessageResultSchema),
        extra.sendRequest({ method: 'roots/list' }, ListRootsResultSchema),
      ]),
    ),
  );
  server.registerTool(
    'visit',
    {},
    asking((extra) => ask(extra, { method: 'elicitation/create', params: PAGE })),
  );
  server.registerTool(
    'read',
    { annotations: { readOnlyHint: true }, _meta: { 'mcp.service': { public_tool: true } } },
    asking((extra) => ask(extra)),
  );
  server.registerTool(
    'recall',
    {},
    asking(async (extra) => {
      const { signal } = taking;
      await extra.sendRequest(form('Who?'), ElicitResultSchema, { signal }).catch(() => undefined);
      return 'recalled';
    }),
  );
  server.registerTool('take', {}, async () => text(taking.abort('Taken back') ?? 'taken'));
  server.registerTool(
    'hurry',
    {},
    asking(async (extra) => {
      ask(extra).catch(() => undefined);
      return 'hurried';
    }),
  );
  server.registerTool(
    'die',
    {},
    asking((extra) => {
      ask(extra).catch(() => undefined);
      // Once the request is written.
      process.stdout.write('', () => process.exit(1));
      return new Promise(() => undefined);
    }),
  );
  server.registerTool('plain', {}, async () =>
    text({ declared: server.server.getClientCapabilities(), pid: String(process.pid) }),
  );
  server.registerTool(
    'wait',
    {},
    asking(() => new Promise(() => undefined)),
  );
  server.registerPrompt('ask', {}, async (extra) => {
    const content = { type: 'text', text: JSON.stringify(await ask(extra)) };
    return { messages: [{ role: 'user', content }] };
  });
  const argsSchema = { of: completable(z.string(), () => [String(process.pid)]) };
  server.registerPrompt('plain', { argsSchema }, async () => ({
    messages: [{ role: 'user', content: { type: 'text', text: String(process.pid) } }],
  }));
  server.registerResource('one', 'ask://one', {}, async ({ href }, extra) => ({
    contents: [{ uri: href, text: JSON.stringify(await ask(extra)) }],
  }));
  return server;
}

if (options.includes('--http')) listenLegacy(server);
else await server().connect(new StdioServerTransport());
