/**
 * The complete flow: `npm run demo`. Starts Signalbox on an embedded PostgreSQL and a real MCP server, then creates a
 * connection, an agent, and a thread, posts a message, shows the answer live, and reads the transcript, as an
 * integration does with the client of `packages/client`. Leaves nothing behind.
 */
import assert from 'node:assert/strict';
import { Signalbox } from '../dist/packages/client/src/index.js';
import { makeDataFolder, SIGNALS, startMcpServer, startSignalbox } from './support/processes.mjs';
import { heading, showChunk, summarize, tell } from './support/terminal.mjs';

const TIMEOUT_MS = 60_000;

/** No provider is configured, so the built-in model answers. Lines that start with a slash are commands for it. */
const MESSAGE = [
  'Hello, is anybody there?',
  '/call echo {"message":"Signals crossed the box"}',
  '/wait 300',
  '/call get-sum {"a":2,"b":3}',
].join('\n');

async function main(cleanup, signal) {
  heading('Starting');
  const dataFolder = await makeDataFolder(cleanup);
  const service = await startSignalbox(dataFolder, cleanup, signal);
  tell('Signalbox', service.url);
  const mcpUrl = await startMcpServer(cleanup, signal);
  tell('MCP server', mcpUrl);

  const client = new Signalbox({ ...service, signal });
  heading('Setting up');
  const agentId = await createAgent(client, mcpUrl);
  const threadId = await createThread(client, agentId);

  heading('The message and its answer, live');
  const taskId = await converse(client, threadId, agentId);

  heading('Read back from durable storage');
  await readBack(client, threadId, taskId);
}

/** A connection defines how to reach one MCP server. An agent composes the tools of its connections. */
async function createAgent(client, mcpUrl) {
  const { item: connection } = await client.tool('COLLECTION_CONNECTIONS_CREATE', {
    data: { title: 'Everything', connection_type: 'HTTP', connection_url: mcpUrl },
  });
  const test = await client.tool('CONNECTION_TEST', { id: connection.id });
  assert(test.ok, `The connection does not work: ${test.error}`);
  tell('Connection', `${connection.id}: ${test.tools} tools, MCP ${test.protocol_version}, ${test.latency_ms} ms`);

  const { item: agent } = await client.tool('COLLECTION_VIRTUAL_MCP_CREATE', {
    data: {
      title: 'Demo agent',
      instructions: 'Be brief.',
      // Select two of the upstream's tools. Without this list, the agent has all of them.
      connections: [{ connection_id: connection.id, selected_tools: ['echo', 'get-sum'] }],
    },
  });
  tell('Agent', `${agent.id}: tools echo, get-sum`);
  return agent.id;
}

async function createThread(client, agentId) {
  // You can choose the id, for example a ticket number. Without one, the service generates it.
  const { item } = await client.tool('COLLECTION_THREADS_CREATE', {
    data: { id: 'demo-1', title: 'Demo', virtual_mcp_id: agentId },
  });
  tell('Thread', `${item.id}: ${item.status}`);
  return item.id;
}

/** Posts the message and shows the answer as it arrives. Returns the run's id. */
async function converse(client, threadId, agentId) {
  const stream = await client.stream(threadId, { agentId, text: MESSAGE });
  for (const line of MESSAGE.split('\n')) process.stdout.write(`  > ${line}\n`);
  for await (const chunk of stream) showChunk(chunk);
  return stream.taskId;
}

/** The live stream is available for a few minutes. The transcript, the thread, and the run are permanent. */
async function readBack(client, threadId, taskId) {
  const { items: transcript } = await client.tool('COLLECTION_THREAD_MESSAGES_LIST', { thread_id: threadId });
  for (const message of transcript) tell('Transcript', summarize(message));
  const { item: thread } = await client.tool('COLLECTION_THREADS_GET', { id: threadId });
  tell('Thread', `${thread.id}: ${thread.status}`);
  const { item: run } = await client.tool('RUN_GET', { id: taskId });
  tell('Run', `${run.id}: ${run.status}, ${run.model}, ${run.steps} steps, ${run.usage.totalTokens} tokens`);

  assert.equal(thread.status, 'completed', 'The thread did not complete.');
  const outcomes = transcript.flatMap(({ parts }) => parts).filter(({ type }) => type === 'dynamic-tool');
  assert.deepEqual(
    outcomes.map(({ toolName, state }) => `${toolName} ${state}`),
    ['echo output-available', 'get-sum output-available'],
    'The transcript does not contain both tool calls with their results.',
  );
}

const interruption = new AbortController();
const interrupt = () => interruption.abort(new Error('The demo was interrupted.'));
// Further signals reach the service (`support/processes.mjs`), which ends at once if they do not belong to the first.
for (const signal of SIGNALS) process.on(signal, interrupt);
// A terminal that was closed must not prevent the cleanup.
for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined);

const timeout = new AbortController();
const timer = setTimeout(
  () => timeout.abort(new Error(`The demo did not finish within ${TIMEOUT_MS / 1000} seconds.`)),
  TIMEOUT_MS,
);

try {
  await using cleanup = new AsyncDisposableStack();
  await main(cleanup, AbortSignal.any([interruption.signal, timeout.signal]));
} catch (error) {
  process.stderr.write(`\n${error.message}\n`);
  process.exitCode = 1;
} finally {
  clearTimeout(timer);
}
if (process.exitCode === undefined)
  process.stdout.write('\nDone. All processes are stopped, and all files are removed.\n');
