import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestApp, startMcpUpstream, startScriptedModel } from 'signalbox/testing';

const app = await createTestApp();
const model = await startScriptedModel();
const upstream = await startMcpUpstream({
  'book-room': {
    handler: () => {
      throw new Error('All rooms are taken.');
    },
  },
});
let agentId: string;

before(async () => {
  await app.useModel(model);
  agentId = await app.createAgent([await app.connect(upstream)]);
});

after(async () => {
  await app.close();
  await Promise.all([model.close(), upstream.close()]);
});

test('a model that rejects the request fails the run, and the next run succeeds', async () => {
  const thread = await app.createThread(agentId);
  model.script({ kind: 'status', status: 400 });

  const failed = await thread.ask('Hello');

  assert.equal(failed.chunks.at(-1)?.type, 'error');
  const run = await thread.run(failed.taskId);
  assert.equal(run.status, 'failed');
  assert.equal(run.error?.code, 'provider_rejected');
  assert.equal(await thread.status(), 'failed');

  model.script({ kind: 'text', deltas: ['Hello again.'] });
  assert.equal((await thread.ask('Hello')).text, 'Hello again.');
  assert.equal(await thread.status(), 'completed');
});

test('a tool failure is reported to the model, which continues', async () => {
  const thread = await app.createThread(agentId);
  model.script(
    { kind: 'tool-calls', calls: [{ name: 'book-room', arguments: {} }] },
    { kind: 'text', deltas: ['No room is free.'] },
  );

  const answer = await thread.ask('Book a room.');

  assert.equal(answer.text, 'No room is free.');
  assert.match(JSON.stringify(model.requests.at(-1)?.body.messages), /All rooms are taken/);
});
