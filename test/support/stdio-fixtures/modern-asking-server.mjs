// A server of the modern era, made with the SDK, whose results ask the client. It serves stdio, or with `--http`
// streamable HTTP, and prints its port. The answers of the client are the text of the result.
//   tool ask        a form
//   tool again      two forms, one after the other; the first answer is in the state. It reports progress before each
//   tool together   a form, a completion by a model, and the roots, at once
//   tool visit      a page
//   tool pause      asks for nothing, but to be called again with its state
//   tool endless    asks again, whatever is answered
//   tool large      a form with a text of 100,000 characters
//   tool many       more forms at once than the service passes on
//   tool wait       is never answered
//   tool plain      asks nothing; its result is what the request declares
//   prompt ask, resource ask://one   a form
// It appends the name of a tool to the file that its first argument names for each request that calls it.
import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  createRequestStateCodec,
  inputRequired,
  McpServer,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { listenModern } from './modern-http.mjs';

const [ledger, ...options] = process.argv.slice(2);
const codec = createRequestStateCodec({ key: randomBytes(32) });
const FORM = { type: 'object', properties: { name: { type: 'string' } } };
const form = (message) => inputRequired.elicit({ message, requestedSchema: FORM });
const COMPLETION = inputRequired.createMessage({
  messages: [{ role: 'user', content: { type: 'text', text: 'Say it' } }],
  maxTokens: 9,
});
const PAGE = inputRequired.elicitUrl({ url: 'https://a.example/visit', message: 'Visit it' });
const text = (value) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });

function server() {
  const server = new McpServer({ name: 'asking', version: '1' }, { requestState: { verify: codec.verify } });
  const tool = (name, handler) =>
    server.registerTool(name, {}, async ({ mcpReq }) => {
      appendFileSync(ledger, `${name}\n`);
      return handler(mcpReq);
    });
  const asking = (name, requests, textOf) =>
    tool(name, ({ inputResponses }) => {
      const isAnswered = Object.keys(requests).every((key) => inputResponses?.[key] !== undefined);
      return isAnswered ? text(textOf(inputResponses)) : inputRequired({ inputRequests: requests });
    });
  asking('ask', { name: form('Who?') }, ({ name }) => name);
  asking('large', { name: form('x'.repeat(100_000)) }, ({ name }) => name);
  asking('visit', { page: PAGE }, ({ page }) => page);
  asking('together', { name: form('Who?'), said: COMPLETION, roots: inputRequired.listRoots() }, (answers) => answers);
  asking('many', Object.fromEntries([...'abcdefghi'].map((key) => [key, form(key)])), (answers) => answers);
  tool('wait', () => new Promise(() => undefined));
  tool('endless', () => inputRequired({ inputRequests: { name: form('Again?') } }));
  tool('plain', ({ envelope }) => text(envelope[CLIENT_CAPABILITIES_META_KEY]));
  tool('again', async (mcpReq) => {
    const { answers } = mcpReq.requestState() ?? { answers: [] };
    const answer = mcpReq.inputResponses?.name;
    const all = answer === undefined ? answers : [...answers, answer];
    if (all.length === 2) return text(all);
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken !== undefined) {
      const params = { progressToken, progress: all.length + 1 };
      await mcpReq.notify({ method: 'notifications/progress', params });
    }
    const requestState = await codec.mint({ answers: all });
    return inputRequired({ inputRequests: { name: form(`Question ${all.length + 1}`) }, requestState });
  });
  tool('pause', async (mcpReq) =>
    mcpReq.requestState() === undefined ? inputRequired({ requestState: await codec.mint({}) }) : text('resumed'),
  );
  server.registerPrompt('ask', {}, ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.name;
    if (answer === undefined) return inputRequired({ inputRequests: { name: form('Who?') } });
    return { messages: [{ role: 'user', content: { type: 'text', text: JSON.stringify(answer) } }] };
  });
  server.registerResource('one', 'ask://one', {}, ({ href }, { mcpReq }) => {
    const answer = mcpReq.inputResponses?.name;
    if (answer === undefined) return inputRequired({ inputRequests: { name: form('Who?') } });
    return { contents: [{ uri: href, text: JSON.stringify(answer) }] };
  });
  return server;
}

if (options.includes('--http')) listenModern(createMcpHandler(server, { legacy: 'reject' }));
else serveStdio(server, { legacy: 'reject' });
