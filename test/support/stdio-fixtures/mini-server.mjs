// A small MCP server over stdio without the SDK, so that it can do what no SDK would. Options:
//   --offended    ends when anything precedes `initialize`
//   --stubborn    takes no notice of SIGTERM and of the end of its input
//   --garbage     prints lines that are no JSON-RPC, and its messages in two halves
//   --fresh=FILE  fails to start while FILE does not exist
//   --textual     answers calls with the id as text
//   --discover=…  answers `server/discover` with this result, `never`, or `late`, which is after `initialize`
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const options = process.argv.slice(2);
const has = (name) => options.includes(`--${name}`);
const valueOf = (name) => options.find((option) => option.startsWith(`--${name}=`))?.slice(`--${name}=`.length);
const [fresh, discover] = [valueOf('fresh'), valueOf('discover')];
if (fresh !== undefined && !existsSync(fresh)) process.exit(3);
if (has('stubborn')) {
  process.on('SIGTERM', () => undefined);
  setInterval(() => undefined, 1000);
}

const names = ['echo', 'pid', 'exit', 'never', 'family', 'hog', 'complain', 'environment', 'initialization', 'ask'];
const hoard = [];
let initialization;
let asked;
let discovery;
let printed = Promise.resolve();

async function printInHalves(before, first, second) {
  await before;
  process.stdout.write(`starting up…\n{"half": \n[]\n{"jsonrpc":"2.0"}\n\n${first}`);
  await sleep(5);
  process.stdout.write(`${second}\r\n`);
}

const print = (message) => {
  const line = JSON.stringify({ jsonrpc: '2.0', ...message });
  if (!has('garbage')) return void process.stdout.write(`${line}\n`);
  const half = Math.floor(line.length / 2);
  printed = printInHalves(printed, line.slice(0, half), line.slice(half));
};

const tools = {
  echo: ({ text }) => text,
  pid: () => String(process.pid),
  exit: ({ code = 1 }) => {
    console.error('Words about the calls of others');
    process.exit(code);
  },
  family: () => {
    const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)']);
    return `${process.pid} ${child.pid}`;
  },
  hog: ({ mebibytes }) => {
    hoard.push(Buffer.alloc(mebibytes * 2 ** 20, 1));
    return 'mine';
  },
  complain: ({ text, times = 1 }) => {
    for (let time = 0; time < times; time++) process.stderr.write(`${text}\n`);
    return 'done';
  },
  environment: () => JSON.stringify({ ...process.env, PWD: undefined, cwd: process.cwd() }),
  initialization: () => JSON.stringify(initialization),
};

const handlers = {
  initialize: ({ params }) => {
    initialization = params;
    return { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'mini', version: '1' } };
  },
  'tools/list': () => ({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) }),
  'tools/call': ({ id, params: { name, arguments: args, _meta } }) => {
    if (name === 'never') return undefined;
    if (name === 'ask') {
      asked = id;
      if (_meta?.progressToken !== undefined) {
        print({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress: 1 } });
      }
      return void print({ id: 'question', method: 'sampling/createMessage', params: { messages: [] } });
    }
    return { content: [{ type: 'text', text: tools[name](args ?? {}) }] };
  },
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (has('offended') && initialization === undefined && message.method !== 'initialize') process.exit(0);
  if (message.method === 'notifications/initialized') print({ method: 'notifications/tools/list_changed' });
  if (message.id === 'question') {
    return print({ id: asked, result: { content: [{ type: 'text', text: JSON.stringify(message.result) }] } });
  }
  if (message.id === undefined) return undefined;
  if (message.method === 'server/discover' && discover !== undefined) {
    discovery = message.id;
    return ['never', 'late'].includes(discover) ? undefined : print({ id: discovery, result: JSON.parse(discover) });
  }
  if (message.method === 'initialize' && discover === 'late') {
    print({ id: discovery, result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } } });
  }
  const handler = handlers[message.method];
  if (handler === undefined) return print({ id: message.id, error: { code: -32601, message: 'Method not found' } });
  const result = handler(message);
  const isTextual = has('textual') && message.method === 'tools/call';
  if (result !== undefined) print({ id: isTextual ? String(message.id) : message.id, result });
});
