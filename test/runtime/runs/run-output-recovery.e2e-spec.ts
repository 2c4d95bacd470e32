import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { generateEncryptionKey } from '../../../src/core/config/encryption-keys.js';
import { createAgent, serveTier, ThreadClient } from '../../support/agent-runs.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { eventually } from '../../support/eventually.js';
import { type FakeOpenAI, startFakeOpenAI } from '../../support/fake-openai.js';
import { startTestService, type TestService } from '../../support/service.js';
import { startWorkerProcess } from '../../support/service-process.js';
import { steer } from '../turns/steering.support.js';

/** For what waits for processes on a busy machine. */
const START_MS = 120_000;
const ENV = {
  RUN_LOCK_MS: '2000',
  ENCRYPTION_KEYS: generateEncryptionKey('output'),
  UPSTREAM_ALLOW_PRIVATE: 'true',
};
const SCHEMA = { type: 'object', properties: { part: { type: 'string' } }, required: ['part'] };

let database: TestDatabase;
let api: TestService;
let model: FakeOpenAI;

beforeAll(async () => {
  database = await createTestDatabase();
  [api, model] = await Promise.all([startTestService({ database, env: { ...ENV, ROLE: 'api' } }), startFakeOpenAI()]);
  await serveTier(api, 'smart', model, { model: 'm' });
});

afterAll(async () => {
  await api?.close();
  await model?.close();
  await database?.drop();
});

it.each([
  ['repeats the step, and has one output', []],
  ['hears a message that came up, once, where it repeats the step', ['The round one']],
])(
  'a run whose worker is killed while it corrects its answer %s',
  async (_, words) => {
    model.requests.length = 0;
    const doomed = await startWorkerProcess({ ...ENV, DATABASE_URL: database.url });
    model.script(
      { kind: 'text', deltas: ['{"part":1}'] },
      { kind: 'hang-after', deltas: ['{"part":'] },
      { kind: 'text', deltas: ['{"part":2}'] },
      { kind: 'text', deltas: ['{"part":', '"axle"}'] },
    );
    const thread = await ThreadClient.create(api, await createAgent(api, [], { output_schema: SCHEMA }));
    const stream = await thread.stream();
    const collecting = stream.collectUntilDone(START_MS);
    const taskId = await thread.postMessage('What is it?');
    await eventually(() => expect(model.requests).toHaveLength(2));
    for (const word of words) expect(await steer(thread, word)).toEqual({ taskId, steered: true });
    await doomed.kill('SIGKILL');
    const other = await startTestService({ database, env: { ...ENV, ROLE: 'worker' } });
    try {
      const collected = await collecting;
      const answer = await thread.expectWhole(taskId, collected);
      expect(answer.parts).toMatchObject([
        { type: 'step-start' },
        ...words.map((text) => ({ type: 'data-steer', data: { text } })),
        { type: 'text', text: '{"part":"axle"}' },
      ]);
      expect(answer.metadata).toMatchObject({ output: { part: 'axle' } });
      const run = await thread.run(taskId);
      expect(run).toMatchObject({ status: 'completed', attempt: 2, steps: 1, output: { part: 'axle' } });
      expect(collected.chunks.filter(({ type }) => type === 'data-output')).toHaveLength(1);
      expect(model.requests).toHaveLength(4);
      const asked = model.requests.at(-1)?.body.messages.filter(({ role }) => role === 'user') ?? [];
      expect(asked.map(({ content }) => content)).toEqual([
        'What is it?',
        ...words,
        expect.stringContaining('Your answer was not accepted.'),
      ]);
    } finally {
      await other.close();
    }
  },
  START_MS,
);
