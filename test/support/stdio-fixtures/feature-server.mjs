// A server with every feature of MCP that docs/mcp-proxy.md#eras lists, made with the SDK: of the legacy era, or with
// `--modern` of the modern one; over stdio, or with `--http` over streamable HTTP, where it prints its port. It appends
// to the file that its first argument names: `called` and `cancelled` for its tool `never`, and `grown` for its tool
// `grow`. All servers that have this file then have one tool more.
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { completable as legacyCompletable } from '@modelcontextprotocol/sdk/server/completable.js';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { completable, createMcpHandler, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { listenLegacy } from './legacy-http.mjs';
import { listenModern } from './modern-http.mjs';

const [ledger, ...options] = process.argv.slice(2);
const isModern = options.includes('--modern');
const INFO = { name: 'features', version: '1' };
const CAPABILITIES = { tools: { listChanged: true }, resources: { subscribe: true }, logging: {}, completions: {} };
const PAGE = 'ui://page';
const NOTE = 'note://one';
const FOR_APPS = { _meta: { ui: { resourceUri: PAGE, visibility: ['app'] } } };
const SCHEMA = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const URL_TO_VISIT = 'https://a.example/visit';
const MESSAGES = [{ role: 'user', content: { type: 'text', text: 'Say it' } }];
const NAMES = ['Ada', 'Grace'];
const say = (text) => ({ content: [{ type: 'text', text }] });
const greeting = (name) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }] });

const grown = () => (existsSync(ledger) ? readFileSync(ledger, 'utf8').split('grown\n').length - 1 : 0);
const growTool = async () => {
  appendFileSync(ledger, 'grown\n');
  return say('done');
};

/** Calls back for each tool that there is now, and later for each new one. */
function growing(onGrown) {
  let count = 0;
  const grow = () => {
    for (; count < grown(); count++) onGrown(`grown-${count}`);
  };
  grow();
  setInterval(grow, 50).unref();
}

function neverEnds(signal) {
  appendFileSync(ledger, 'called\n');
  signal.addEventListener('abort', () => appendFileSync(ledger, 'cancelled\n'), { once: true });
  return new Promise(() => undefined);
}

/** What both eras have in common. */
function addCommon(server, complete, notifyOf) {
  server.registerTool('echo', {}, async () => say('echo'));
  server.registerTool('grow', {}, growTool);
  server.registerTool('app', FOR_APPS, async () => say('app'));
  server.registerTool('steps', {}, async (extra) => {
    const { notify, progressToken } = notifyOf(extra);
    await notify({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 1 } });
    // The SDK's clients drop progress that arrives together with the answer.
    await sleep(50);
    return say('done');
  });
  const argsSchema = complete(z);
  server.registerPrompt('greet', { argsSchema }, async ({ name }) => greeting(name));
  server.registerResource('note', NOTE, {}, async (uri) => ({ contents: [{ uri: uri.href, text: 'one' }] }));
  server.registerResource('page', PAGE, {}, async (uri) => ({ contents: [{ uri: uri.href, text: '<p>' }] }));
}

const matching = (value) => NAMES.filter((name) => name.startsWith(value));

function legacy() {
  const server = new LegacyServer(INFO, { capabilities: CAPABILITIES });
  addCommon(
    server,
    () => ({ name: legacyCompletable(z.string(), matching) }),
    ({ sendNotification, _meta }) => ({ notify: sendNotification, progressToken: _meta?.progressToken }),
  );
  server.registerTool('never', {}, ({ signal }) => neverEnds(signal));
  server.registerTool('logs', {}, async ({ sendNotification }) => {
    await sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'logged' } });
    return say('done');
  });
  growing((name) => server.registerTool(name, {}, async () => say('grown')));
  const subscribed = new Set();
  const change =
    (method) =>
    async ({ params }) => {
      subscribed[method](params.uri);
      return {};
    };
  server.server.setRequestHandler(SubscribeRequestSchema, change('add'));
  server.server.setRequestHandler(UnsubscribeRequestSchema, change('delete'));
  server.registerTool('touch', {}, async () => {
    if (subscribed.has(NOTE)) await server.server.sendResourceUpdated({ uri: NOTE });
    return say('done');
  });
  const related = ({ requestId }) => ({ relatedRequestId: requestId });
  server.registerTool('asks', {}, async (extra) => {
    const asked = { mode: 'form', message: 'Who?', requestedSchema: SCHEMA };
    return say((await server.server.elicitInput(asked, related(extra))).content.name);
  });
  server.registerTool('visits', {}, async (extra) => {
    const asked = { mode: 'url', message: 'Visit', url: URL_TO_VISIT, elicitationId: randomUUID() };
    return say((await server.server.elicitInput(asked, related(extra))).action);
  });
  server.registerTool('samples', {}, async (extra) => {
    const sampled = await server.server.createMessage({ messages: MESSAGES, maxTokens: 9 }, related(extra));
    return say(sampled.content.text);
  });
  server.registerTool('roots', {}, async (extra) =>
    say((await server.server.listRoots(undefined, related(extra))).roots[0].uri),
  );
  return server;
}

/** @param isLasting false if each request has a server of its own */
function modern(isLasting) {
  const server = new McpServer(INFO, { capabilities: CAPABILITIES });
  addCommon(
    server,
    () => z.object({ name: completable(z.string(), matching) }),
    ({ mcpReq }) => ({ notify: mcpReq.notify, progressToken: mcpReq._meta?.progressToken }),
  );
  server.registerTool('never', {}, ({ mcpReq }) => neverEnds(mcpReq.signal));
  server.registerTool('logs', {}, async ({ mcpReq }) => {
    await mcpReq.log('info', 'logged');
    return say('done');
  });
  server.registerTool('touch', {}, async () => {
    if (isLasting) await server.server.sendResourceUpdated({ uri: NOTE });
    else handler.notify.resourceUpdated(NOTE);
    return say('done');
  });
  const add = (name) => server.registerTool(name, {}, async () => say('grown'));
  if (isLasting) growing(add);
  else for (let count = 0; count < grown(); count++) add(`grown-${count}`);
  const asking = (name, request, textOf) =>
    server.registerTool(name, {}, async ({ mcpReq }) => {
      const answer = mcpReq.inputResponses?.[name];
      return answer === undefined ? inputRequired({ inputRequests: { [name]: request } }) : say(textOf(answer));
    });
  const form = inputRequired.elicit({ message: 'Who?', requestedSchema: SCHEMA });
  asking('asks', form, ({ content }) => content.name);
  asking('visits', inputRequired.elicitUrl({ message: 'Visit', url: URL_TO_VISIT }), ({ action }) => action);
  const sample = inputRequired.createMessage({ messages: MESSAGES, maxTokens: 9 });
  asking('samples', sample, ({ content }) => content.text);
  asking('roots', inputRequired.listRoots(), ({ roots }) => roots[0].uri);
  return server;
}

const handler = createMcpHandler(() => modern(false), { legacy: 'reject' });

if (options.includes('--http')) {
  if (isModern) {
    growing(() => handler.notify.toolsChanged());
    listenModern(handler);
  } else listenLegacy(legacy);
} else if (isModern) serveStdio(() => modern(true), { legacy: 'reject' });
else await legacy().connect(new StdioServerTransport());
