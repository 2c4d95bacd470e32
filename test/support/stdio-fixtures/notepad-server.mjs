// An MCP server over stdio that keeps one note, without the SDK. Tools: note({text}), read(), and never(), which does
// not answer. It appends its process id, and a line for each call of never(), to the file that its argument names.
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const [ledger] = process.argv.slice(2);
appendFileSync(ledger, `${process.pid}\n`);

let note = 'nothing';
const tools = {
  note: ({ text }) => (note = text),
  read: () => note,
  never: () => appendFileSync(ledger, 'never\n'),
};
const _meta = { 'mcp.service': { public_tool: true } };
const handlers = {
  initialize: () => ({
    protocolVersion: '2025-11-25',
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: 'notepad', version: '1' },
  }),
  'tools/list': () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: 'object' }, _meta })),
  }),
  'tools/call': ({ name, arguments: args = {} }) => {
    const text = tools[name](args);
    return name === 'never' ? undefined : { content: [{ type: 'text', text }] };
  },
  'prompts/list': () => ({ prompts: [{ name: 'read' }] }),
  'prompts/get': () => ({ messages: [{ role: 'user', content: { type: 'text', text: note } }] }),
  'resources/list': () => ({ resources: [{ uri: 'note:///', name: 'note' }] }),
  'resources/read': () => ({ contents: [{ uri: 'note:///', text: note }] }),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) return;
  const handler = handlers[method];
  const result = handler?.(params);
  if (handler && result === undefined) return;
  const answer = handler ? { result } : { error: { code: -32601, message: 'Method not found' } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...answer })}\n`);
});
