// A server of the legacy era (2025-11-25), made with the SDK, that reports changes: over stdio, or with `--http` over
// streamable HTTP, where it prints its port (`--deaf` refuses the stream of unsolicited
// messages). It appends to the file that its first argument names the messages about subscriptions and log levels that
// it gets, as the method and the address or the level, and `unknown` for each message in a session that it does not
// know. Its resources begin with `note://`; it refuses to subscribe to others. It has these tools:
// - `touch` changes the resource `uri`, of which all its subscribers hear, and all sessions if nobody can subscribe to
//   it
// - `own` reports to its own session alone that the resource `uri` has changed
// - `within` reports in its answer that the resource `uri` and the list of prompts have changed
// - `grow` and `prompt` change a list, of which all sessions hear
// - `log` sends a log message of `level`, and is public
// - `forget` forgets all sessions
// - `release` lets subscriptions to resources that begin with `note://held` be answered
// - `echo` does nothing, and `exit` ends the process
import { appendFileSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { listenLegacy } from './legacy-http.mjs';

const [ledger, ...options] = process.argv.slice(2);
const note = (line) => appendFileSync(ledger, `${line}\n`);
const PUBLIC = { _meta: { 'mcp.service': { public_tool: true } } };
const NAMES = ['touch', 'own', 'within', 'grow', 'prompt', 'log', 'forget', 'release', 'echo', 'exit'];
const sessions = new Map();
const all = new Set();
const released = Promise.withResolvers();
let count = 0;

const say = (text) => ({ content: [{ type: 'text', text }] });

const TOOLS = {
  touch: ({ uri }) =>
    Promise.all(
      [...all]
        .filter(({ uris }) => uris.has(uri) || !uri.startsWith('note://'))
        .map(({ server }) => server.sendResourceUpdated({ uri })),
    ),
  own: ({ uri }, _extra, server) => server.sendResourceUpdated({ uri }),
  within: async ({ uri }, { sendNotification }) => {
    await sendNotification({ method: 'notifications/resources/updated', params: { uri } });
    await sendNotification({ method: 'notifications/prompts/list_changed' });
  },
  grow: () => {
    count++;
    return Promise.all([...all].map(({ server }) => server.sendToolListChanged()));
  },
  prompt: () => Promise.all([...all].map(({ server }) => server.sendPromptListChanged())),
  log: ({ level }, { sendNotification }) =>
    sendNotification({ method: 'notifications/message', params: { level, data: `log of ${level}` } }),
  forget: () => {
    setImmediate(() => {
      for (const [id, transport] of sessions) {
        sessions.delete(id);
        void transport.close();
      }
    });
  },
  release: () => released.resolve(),
  echo: () => undefined,
  exit: () => process.exit(3),
};

function open() {
  const uris = new Set();
  const capabilities = {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { listChanged: true, subscribe: true },
    logging: {},
  };
  const server = new Server({ name: 'reporting', version: '1' }, { capabilities });
  const session = { server, uris };
  all.add(session);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK's server has callbacks, not events
  server.onclose = () => all.delete(session);
  server.setRequestHandler(ListToolsRequestSchema, () => {
    const names = [...NAMES, ...Array.from({ length: count }, (_, index) => `grown-${index}`)];
    return { tools: names.map((name) => ({ name, inputSchema: { type: 'object' }, ...(name === 'log' && PUBLIC) })) };
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: [] }));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: [{ uri: 'note://one', name: 'one' }] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params: { name, arguments: args = {} } }, extra) => {
    await TOOLS[name](args, extra, server);
    return say('done');
  });
  server.setRequestHandler(SubscribeRequestSchema, async ({ params: { uri } }) => {
    note(`subscribe ${uri}`);
    if (uri.startsWith('note://held')) await released.promise;
    if (!uri.startsWith('note://')) throw new Error('There is no such resource');
    uris.add(uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    note(`unsubscribe ${uri}`);
    uris.delete(uri);
    return {};
  });
  server.setRequestHandler(SetLevelRequestSchema, ({ params: { level } }) => {
    note(`level ${level}`);
    return {};
  });
  return server;
}

if (options.includes('--http')) {
  listenLegacy(open, { sessions, onUnknown: () => note('unknown'), isDeaf: options.includes('--deaf') });
} else await open().connect(new StdioServerTransport());
