import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { createAgent } from '../../support/agent-runs.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { freePort } from '../../support/free-port.js';
import { startTestService, type TestService } from '../../support/service.js';
import { ServiceProcess, startWorkerProcess, testEnvironment } from '../../support/service-process.js';
import { expectPublishedShapes, faultsIn } from './checked-fetch.js';
import { collect, finalOf, openAiClient, textsIn, textsOf } from './responses.support.js';

const RUN_LOCK = { RUN_LOCK_MS: '2000' };
const START_MS = 120_000;
/** A second attempt says something else. */
const INPUT = '/random 40\n/wait 3000\n/random 5';

let database: TestDatabase;
let api: TestService;
let agentId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  api = await startTestService({ database, env: { ...RUN_LOCK, ROLE: 'api' } });
  agentId = await createAgent(api);
}, START_MS);
afterAll(async () => {
  await api?.close();
  await database?.drop();
});
expectPublishedShapes();

/** Takes over from a worker that is killed, for as long as `work` takes. */
async function withAnotherWorker<T>(work: () => Promise<T>): Promise<T> {
  const worker = await startTestService({ database, env: { ...RUN_LOCK, ROLE: 'worker' } });
  try {
    return await work();
  } finally {
    await worker.close();
  }
}

/** Reads events until the response has said so much. */
async function readSome(
  events: AsyncIterator<ResponseStreamEvent>,
  deltas: number,
): Promise<{ seen: ResponseStreamEvent[]; id: string }> {
  const seen: ResponseStreamEvent[] = [];
  while (seen.filter(({ type }) => type === 'response.output_text.delta').length < deltas) {
    const { value, done } = await events.next();
    if (done === true) throw new Error('The events have ended.');
    seen.push(value);
  }
  const [created] = seen;
  if (created?.type !== 'response.created') throw new Error(`The first event is ${created?.type}.`);
  return { seen, id: created.response.id };
}

const stream = (openai: OpenAI) => openai.responses.create({ model: agentId, input: INPUT, stream: true });

/** The events are one whole: the text that was taken back is an incomplete item, and the next one is the answer. */
async function expectWhole(events: ResponseStreamEvent[]): Promise<void> {
  expect(faultsIn(events)).toEqual([]);
  const final = finalOf(events);
  expect(final).toMatchObject({ status: 'completed', output: [{ type: 'message', status: 'completed' }] });
  const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []));
  expect(done).toMatchObject([{ status: 'incomplete' }, { status: 'completed' }]);
  const [first, second] = done.map(({ id }) => textsOf(events).get(id ?? ''));
  expect(first).not.toBe('');
  expect([...textsIn(final).values()]).toEqual([second]);
  expect((await openAiClient(api).responses.retrieve(final.id)).output_text).toBe(second);
}

describe('a response whose process is killed in the middle of its text', () => {
  it(
    'goes on for a reader of another process, with a new item',
    async () => {
      const port = String(await freePort());
      const doomed = await startWorkerProcess({ ...testEnvironment(database.url), ...RUN_LOCK, PORT: port });
      const events = (await stream(openAiClient(api)))[Symbol.asyncIterator]();
      const { seen } = await readSome(events, 10);
      await doomed.kill('SIGKILL');
      await withAnotherWorker(async () => {
        for (let next = await events.next(); next.done !== true; next = await events.next()) seen.push(next.value);
        await expectWhole(seen);
      });
    },
    START_MS,
  );

  it(
    'goes on at another process for a reader that comes back after its last event',
    async () => {
      const doomed = new ServiceProcess({ ...testEnvironment(database.url), ...RUN_LOCK });
      const { url } = await doomed.listening();
      const events = (await stream(openAiClient({ url, org: api.org, apiKey: api.apiKey })))[Symbol.asyncIterator]();
      const { seen, id } = await readSome(events, 10);
      await doomed.kill('SIGKILL');
      for (let next = await nextOf(events); next !== undefined; next = await nextOf(events)) seen.push(next);
      await withAnotherWorker(async () => {
        const startingAfter = seen.at(-1)?.sequence_number ?? 0;
        const rest = await openAiClient(api).responses.retrieve(id, { stream: true, starting_after: startingAfter });
        await expectWhole([...seen, ...(await collect(rest))]);
      });
    },
    START_MS,
  );
});

/** What the reader still gets of a connection that is broken; undefined at its end. */
async function nextOf(events: AsyncIterator<ResponseStreamEvent>): Promise<ResponseStreamEvent | undefined> {
  const next = await events.next().catch(() => undefined);
  return next?.done === true ? undefined : next?.value;
}
