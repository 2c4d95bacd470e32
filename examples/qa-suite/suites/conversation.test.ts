import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestApp, startMcpUpstream, startScriptedModel } from 'signalbox/testing';

const app = await createTestApp();
const model = await startScriptedModel();
const upstream = await startMcpUpstream({
  'find-order': {
    inputSchema: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
    annotations: { readOnlyHint: true },
    handler: ({ number }) => `Order ${String(number)} was shipped.`,
  },
});
let agentId: string;

before(async () => {
  await app.useModel(model);
  agentId = await app.createAgent([await app.connect(upstream)], { instructions: 'Answer briefly.' });
});

after(async () => {
  await app.close();
  await Promise.all([model.close(), upstream.close()]);
});

test('a message is answered on the stream and stored in the transcript', async () => {
  model.script({ kind: 'text', deltas: ['It ', 'works.'], usage: { inputTokens: 12, outputTokens: 3 } });
  const thread = await app.createThread(agentId, 'ticket-1');

  const answer = await thread.ask('Does it work?');

  assert.equal(answer.text, 'It works.');
  assert.deepEqual(
    answer.chunks.filter(({ type }) => type === 'text-delta').map((chunk) => 'delta' in chunk && chunk.delta),
    ['It ', 'works.'],
  );
  assert.deepEqual(
    (await thread.transcript()).map(({ role }) => role),
    ['user', 'assistant'],
  );
  const run = await thread.run(answer.taskId);
  assert.equal(run.status, 'completed');
  assert.deepEqual(run.usage, { inputTokens: 12, outputTokens: 3, totalTokens: 15 });
});

test('the model calls a tool of the agent and answers with its result', async () => {
  model.script(
    { kind: 'tool-calls', calls: [{ name: 'find-order', arguments: { number: 'A-7' } }] },
    { kind: 'text', deltas: ['It is on its way.'] },
  );
  const thread = await app.createThread(agentId);

  const answer = await thread.ask('Where is order A-7?');

  assert.equal(answer.text, 'It is on its way.');
  assert.deepEqual(
    upstream.calls.map(({ tool, arguments: args }) => [tool, args]),
    [['find-order', { number: 'A-7' }]],
  );
  // The second request to the model contains the result.
  assert.match(JSON.stringify(model.requests.at(-1)?.body.messages), /Order A-7 was shipped/);
});
