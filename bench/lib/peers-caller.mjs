/**
 * The callers of the peers benchmark, in a separate process: clients of the official TypeScript SDK, each with a
 * session of its own. Receives `{ open: { name, url, transport, headers?, callers } }`, which opens the clients of a
 * target and replies `{}`, and `{ measure: { name, callers, ms } }`, which calls the tool `echo` with as many of them,
 * one call after the other, and replies `{ times }` (milliseconds); or `{ error }`.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const MESSAGE = 'The quick brown fox jumps over the lazy dog, again and again....';
/** Clients and the name of the tool, by target. */
const targets = new Map();

process.on('message', ({ open, measure }) => {
  (open === undefined ? measureCalls(measure) : openClients(open)).then(
    (answer) => process.send(answer),
    (error) => process.send({ error: error.stack }),
  );
});
process.once('disconnect', () => process.exit(0));

async function openClients({ name, url, transport, headers, callers }) {
  const Transport = transport === 'sse' ? SSEClientTransport : StreamableHTTPClientTransport;
  const clients = [];
  for (let i = 0; i < callers; i++) {
    const client = new Client({ name: 'benchmark', version: '1' });
    await client.connect(new Transport(new URL(url), { requestInit: { headers } }));
    clients.push(client);
  }
  const { tools } = await clients[0].listTools();
  // A hub adds the server's name.
  const tool = tools.find((each) => /(?:^|_)echo$/.test(each.name))?.name;
  if (tool === undefined) throw new Error(`${name} has no tool echo: ${tools.map((each) => each.name).join(', ')}`);
  targets.set(name, { clients, tool });
  return {};
}

async function measureCalls({ name, callers, ms }) {
  const { clients, tool } = targets.get(name);
  const times = [];
  const until = performance.now() + ms;
  await Promise.all(
    clients.slice(0, callers).map(async (client) => {
      do {
        const start = performance.now();
        const { content } = await client.callTool({ name: tool, arguments: { message: MESSAGE } });
        times.push(performance.now() - start);
        if (!content[0]?.text?.includes(MESSAGE)) throw new Error(`${name} answered wrong: ${JSON.stringify(content)}`);
      } while (performance.now() < until);
    }),
  );
  return { times };
}
