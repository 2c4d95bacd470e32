import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createTestApp, startMcpUpstream, startScriptedModel } from 'signalbox/testing';

const app = await createTestApp();
const model = await startScriptedModel();
const upstream = await startMcpUpstream({
  'find-order': {
    inputSchema: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
    annotations: { readOnlyHint: true },
    handler: ({ number }) => `Order ${String(number)} was shipped.`,
  },
  'refund-order': {
    inputSchema: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
    annotations: { destructiveHint: true },
    handler: ({ number }) => `Order ${String(number)} is refunded.`,
  },
});
let agentId: string;
const refund = { kind: 'tool-calls' as const, calls: [{ name: 'refund-order', arguments: { number: 'A-7' } }] };

before(async () => {
  await app.useModel(model);
  const connection_id = await app.connect(upstream);
  agentId = await app.createAgent([], {
    instructions: 'Answer briefly.',
    connections: [{ connection_id, approval: 'destructive' }],
  });
});

beforeEach(() => {
  upstream.calls.length = 0;
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

test('a denied call is not made, and the model learns the reason', async () => {
  model.script(refund, { kind: 'text', deltas: ['I did not refund it.'] });
  const thread = await app.createThread(agentId);

  const answering = thread.ask('Refund order A-7.');
  const [approval] = await thread.waitForApprovals();
  assert.ok(approval);
  assert.deepEqual([approval.tool_name, approval.input], ['refund-order', { number: 'A-7' }]);
  await thread.answerApproval(approval.id, false, 'Ask the customer first.');

  assert.equal((await answering).text, 'I did not refund it.');
  assert.deepEqual(upstream.calls, []);
  assert.match(JSON.stringify(model.requests.at(-1)?.body.messages), /Ask the customer first/);
});

test('an approved call is made once', async () => {
  model.script(refund, { kind: 'text', deltas: ['Done.'] });
  const thread = await app.createThread(agentId);

  const answering = thread.ask('Refund order A-7.');
  for (const { id } of await thread.waitForApprovals()) await thread.answerApproval(id, true);

  assert.equal((await answering).text, 'Done.');
  assert.equal(upstream.calls.length, 1);
  assert.deepEqual(await thread.pendingApprovals(), []);
});
