// A server of the modern era (2026-07-28) over stdio, made with the SDK. Options:
//   --dual        serves the legacy era too
//   --era=FILE    serves only the legacy era while FILE contains `legacy`, decided when it starts
//   --slow=FILE   reads nothing for longer than the service waits for an answer, if FILE does not exist; creates it
//   --ledger=FILE appends a line for each message that it reads: the method, and the id
// It has:
//   the tools     echo; meta, which tells what `_meta` it got; pid; exit; close; never; steps, which reports progress
//                 and logs; asks, samples and roots, which ask their client; grow, which adds a tool; touch, which
//                 changes a resource
//   the prompt    asks
//   the resources note://one and note://two
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer as LegacyServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport as LegacyTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  acceptedContent,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer,
} from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const options = process.argv.slice(2);
const optionOf = (name) => options.find((option) => option.startsWith(`--${name}=`))?.slice(name.length + 3);
const [era, ledger, slow] = ['era', 'ledger', 'slow'].map(optionOf);
const say = (value) => ({
  content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }],
});

let served;
const codec = createRequestStateCodec({ key: randomBytes(32) });
const question = inputRequired.elicit({
  message: 'Who?',
  requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
});
const ask = async (inputRequests) => inputRequired({ inputRequests, requestState: await codec.mint({}) });

function modern() {
  const server = new McpServer(
    { name: 'era-program', version: '1' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        extensions: { 'io.example/own': { level: 2 } },
      },
      instructions: 'Be modern.',
      requestState: { verify: codec.verify },
    },
  );
  const text = fromJsonSchema({ type: 'object', properties: { text: { type: 'string' } } });
  server.registerTool('echo', { inputSchema: text }, async (args) => say(args.text ?? ''));
  server.registerTool('meta', {}, async ({ mcpReq }) => say({ ...mcpReq._meta, ...mcpReq.envelope }));
  server.registerTool('pid', {}, async () => say(String(process.pid)));
  server.registerTool('exit', {}, async () => process.exit(4));
  server.registerTool('close', {}, async () => {
    setImmediate(() => served.close());
    return say('closing');
  });
  server.registerTool('never', {}, () => new Promise(() => undefined));
  server.registerTool('steps', { inputSchema: text }, async (args, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken;
    for (const progress of progressToken === undefined ? [] : [1, 2]) {
      await mcpReq.notify({
        method: 'notifications/progress',
        params: { progressToken, progress, message: args.text },
      });
    }
    await mcpReq.log('info', `log of ${args.text}`);
    return say(args.text);
  });
  server.registerTool('asks', {}, async ({ mcpReq }) => {
    const name = acceptedContent(mcpReq.inputResponses, 'name')?.name;
    return mcpReq.requestState() !== undefined && name !== undefined ? say(`Hello ${name}`) : ask({ name: question });
  });
  server.registerTool('samples', {}, async ({ mcpReq }) => {
    const sample = mcpReq.inputResponses?.sample;
    const messages = [{ role: 'user', content: { type: 'text', text: 'Say it' } }];
    return sample === undefined
      ? ask({ sample: inputRequired.createMessage({ messages, maxTokens: 9 }) })
      : say(sample.content.text);
  });
  server.registerTool('roots', {}, async ({ mcpReq }) => {
    const { roots } = mcpReq.inputResponses ?? {};
    return roots === undefined ? ask({ roots: inputRequired.listRoots() }) : say(roots.roots[0].uri);
  });
  let grown = 0;
  server.registerTool('grow', {}, async () => {
    server.registerTool(`grown-${++grown}`, {}, async () => say('grown'));
    return say('grown');
  });
  server.registerTool('touch', { inputSchema: text }, async (args) => {
    await server.server.sendResourceUpdated({ uri: args.text });
    return say('touched');
  });
  server.registerPrompt('asks', {}, async ({ mcpReq }) => {
    const name = acceptedContent(mcpReq.inputResponses, 'name')?.name;
    if (name === undefined) return ask({ name: question });
    return { messages: [{ role: 'user', content: { type: 'text', text: `Hello ${name}` } }] };
  });
  for (const note of ['one', 'two']) {
    const uri = `note://${note}`;
    server.registerResource(note, uri, {}, async () => ({ contents: [{ uri, text: note }] }));
  }
  return server;
}

/** Standard input, whose messages are noted in the ledger. */
function notedInput() {
  if (ledger === undefined) return process.stdin;
  const input = new PassThrough();
  let rest = '';
  process.stdin.on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const { method = 'answer', id, params } = JSON.parse(line);
      appendFileSync(ledger, `${method} ${JSON.stringify(id ?? params?.requestId ?? null)}\n`);
      input.write(`${line}\n`);
    }
  });
  process.stdin.on('end', () => input.end());
  return input;
}

if (era !== undefined && readFileSync(era, 'utf8').includes('legacy')) {
  const server = new LegacyServer({ name: 'era-program', version: '0' });
  server.registerTool('echo', {}, async () => say('legacy'));
  server.registerTool('pid', {}, async () => say(String(process.pid)));
  server.registerTool('exit', {}, async () => process.exit(4));
  await server.connect(new LegacyTransport());
} else {
  if (slow !== undefined && !existsSync(slow)) {
    writeFileSync(slow, '');
    await sleep(11_000);
  }
  const transport = new StdioServerTransport(notedInput(), process.stdout);
  served = serveStdio(modern, { transport, legacy: options.includes('--dual') ? 'serve' : 'reject' });
}
