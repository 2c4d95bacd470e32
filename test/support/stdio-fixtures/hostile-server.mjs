// An MCP server over stdio that does what no server should. Its tools, which are public:
//   pid          tells the process's id
//   never        is not answered
//   waiting      tells how many calls of `never` have arrived
//   values       answers with `count` empty objects, and with the text of `id` if it is given
//   text         answers with `mebibytes` of text
//   deep         answers with lists in lists, `depth` of them
//   flood        prints notifications without end
//   pour         prints without end and without ending the line
//   complain     writes to standard error without end
// With --mute it does not answer `initialize`, with --crash it ends instead.
import { createInterface } from 'node:readline';

const options = process.argv.slice(2);
const names = ['pid', 'never', 'waiting', 'values', 'text', 'deep', 'flood', 'pour', 'complain'];
const NOTE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'.repeat(700);

const print = (id, result, text = JSON.stringify(id)) =>
  process.stdout.write(`{"result":${result},"jsonrpc":"2.0","id":${text}}\n`);

function writeForEver(stream, text) {
  const write = () => {
    while (stream.write(text));
    stream.once('drain', write);
  };
  write();
}

const content = (text) => `{"content":[{"type":"text","text":${JSON.stringify(text)}}]}`;
let waiting = 0;
const tools = {
  pid: (id) => print(id, content(String(process.pid))),
  never: () => (waiting += 1),
  waiting: (id) => print(id, content(String(waiting))),
  values: (id, { count, id: text }) => print(id, `{"content":[],"x":[${'{},'.repeat(count)}{}]}`, text),
  text: (id, { mebibytes }) => print(id, content('x'.repeat(mebibytes * 2 ** 20))),
  deep: (id, { depth }) => print(id, `{"content":[],"x":${'['.repeat(depth)}${']'.repeat(depth)}}`),
  flood: () => writeForEver(process.stdout, NOTE),
  pour: () => writeForEver(process.stdout, 'x'.repeat(2 ** 16)),
  complain: () => writeForEver(process.stderr, 'What a day\n'.repeat(6000)),
};

const initialized = {
  protocolVersion: '2025-11-25',
  capabilities: { tools: {} },
  serverInfo: { name: 'hostile', version: '1' },
};
const listed = {
  tools: names.map((name) => ({
    name,
    inputSchema: { type: 'object' },
    _meta: { 'mcp.service': { public_tool: true } },
  })),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    if (options.includes('--crash')) process.exit(1);
    if (!options.includes('--mute')) print(id, JSON.stringify(initialized));
  } else if (method === 'tools/list') print(id, JSON.stringify(listed));
  else if (method === 'tools/call') tools[params.name](id, params.arguments ?? {});
  else if (id !== undefined)
    process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"no"}}\n`);
});
