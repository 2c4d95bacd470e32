import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestApp, startScriptedModel } from 'signalbox/testing';

const LIMIT_MS = 5_000;

test('an application closes with open streams and a run in progress', async () => {
  const model = await startScriptedModel();
  // The test closes `app` first, while `other` keeps running.
  const [app, other] = await Promise.all([createTestApp(), createTestApp()]);
  await app.useModel(model);
  const agentId = await app.createAgent();
  const busy = await app.createThread(agentId);
  const idle = await app.createThread(agentId);

  model.script({ kind: 'hang-after', deltas: ['One moment'] });
  const streams = await Promise.all([busy.stream(), idle.stream({ query: { follow: 'true' } })]);
  await busy.post('Hello');
  const frames = streams[0].frames()[Symbol.asyncIterator]();
  while (!(await frames.next()).value?.data.includes('One moment'));
  const ends = [frames.next(), streams[1].collectUntilDone()].map((end) =>
    end.then(
      () => 'continued',
      () => 'aborted',
    ),
  );

  const timer = setTimeout(() => assert.fail('The application did not close in time.'), LIMIT_MS);
  await app.close();
  clearTimeout(timer);

  assert.deepEqual(await Promise.all(ends), ['aborted', 'aborted']);
  await assert.rejects(app.tool('RUN_LIST'));
  assert.deepEqual(await other.tool('RUN_LIST'), { items: [], totalCount: 0, hasMore: false, nextCursor: null });
  await other.close();
  await model.close();
});

test('two applications share nothing', async () => {
  await using first = await createTestApp();
  await using second = await createTestApp();

  assert.notEqual(first.org, second.org);
  assert.equal((await second.withKey(first.apiKey).send('tools')).status, 401);
  const agentId = await first.createAgent();
  assert.equal((await second.send('tools/COLLECTION_VIRTUAL_MCP_GET', { id: agentId })).status, 404);
});
