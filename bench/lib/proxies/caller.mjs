/**
 * The callers of the proxies, in a separate process: clients of the official TypeScript SDK, each with a session of its
 * own. Receives `{ id, open: { name, url, transport, headers?, revision?, call?, callers } }`, which opens the clients
 * of a target, lets each call once, and replies `{ revision }`, the one that was agreed on; and `{ id, measure: { name,
 * callers, ms } }`, which calls the tool `echo` with as many of them, one call after the other, and replies `{ times }`
 * (milliseconds); or `{ error }`. An answer has the `id` of its job.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { MESSAGE } from './message.mjs';

const TRANSPORTS = { http: atRevision(StreamableHTTPClientTransport), sse: atRevision(SSEClientTransport) };
/** A peer that does not answer must not hold up the others. */
const OPTIONS = { timeout: 10_000 };
const READY_WITHIN_MS = 10_000;
/** Clients and the call, by target. */
const targets = new Map();

process.on('message', ({ id, open, measure }) => {
  (open === undefined ? measureCalls(measure) : openClients(open)).then(
    (answer) => process.send({ id, ...answer }),
    (error) => process.send({ id, error: error.message }),
  );
});
process.once('disconnect', () => process.exit(0));

/** The transport, which can ask for another revision than the client does, and knows the one that was agreed on. */
function atRevision(Transport) {
  return class extends Transport {
    agreed;

    constructor(url, headers, revision) {
      super(url, { requestInit: { headers } });
      this.revision = revision;
    }

    send(message, options) {
      if (message.method !== 'initialize' || this.revision === undefined) return super.send(message, options);
      return super.send({ ...message, params: { ...message.params, protocolVersion: this.revision } }, options);
    }

    setProtocolVersion(revision) {
      this.agreed = revision;
      super.setProtocolVersion(revision);
    }
  };
}

async function openClients({ name, url, transport, headers, revision, call, callers }) {
  const clients = [];
  let connection;
  for (let i = 0; i < callers; i++) {
    await untilReady(async () => {
      const client = new Client({ name: 'benchmark', version: '1' });
      connection = new TRANSPORTS[transport](new URL(url), headers, revision);
      await client.connect(connection, OPTIONS);
      clients.push(client);
    });
  }
  const echoCall = call ?? (await untilReady(() => echoOf(clients[0], name)));
  targets.set(name, { clients, call: echoCall });
  await Promise.all(clients.map((client) => untilReady(() => echo(client, name))));
  return { revision: connection.agreed };
}

async function echoOf(client, name) {
  const { tools } = await client.listTools({}, OPTIONS);
  // A hub adds the server's name.
  const tool = tools.find((each) => /(?:^|[_:.-])echo$/.test(each.name));
  if (tool === undefined) throw new Error(`${name} has no tool echo: ${tools.map((each) => each.name).join(', ')}`);
  return { name: tool.name, arguments: { message: MESSAGE } };
}

/** A gateway can listen before it is ready for its callers, and be ready before it is connected with its upstream. */
async function untilReady(work) {
  const giveUpAt = Date.now() + READY_WITHIN_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > giveUpAt) throw error;
      await sleep(250);
    }
  }
}

async function echo(client, name) {
  const { content } = await client.callTool(targets.get(name).call, undefined, OPTIONS);
  if (!content[0]?.text?.includes(MESSAGE)) throw new Error(`${name} answered wrong: ${JSON.stringify(content)}`);
}

async function measureCalls({ name, callers, ms }) {
  const times = [];
  const until = performance.now() + ms;
  const callUntilThen = async (client) => {
    do {
      const start = performance.now();
      await echo(client, name);
      times.push(performance.now() - start);
    } while (performance.now() < until);
  };
  await Promise.all(targets.get(name).clients.slice(0, callers).map(callUntilThen));
  return { times };
}
