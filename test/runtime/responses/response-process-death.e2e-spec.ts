import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { createAgent, unusedId } from '../../support/agent-runs.js';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { startTestService, type TestService } from '../../support/service.js';
import { ServiceProcess, testEnvironment } from '../../support/service-process.js';
import type { Tenant } from '../../support/tenant.js';
import { SCRIPTED, useScriptedModel } from '../approvals/approvals.support.js';
import { type HeldModel, startHeldModel } from '../streaming/held-model.support.js';
import { expectPublishedShapes, faultsIn } from './checked-fetch.js';
import { collect, finalOf, openAiClient, textsIn, textsOf } from './responses.support.js';

const RUN_LOCK = { RUN_LOCK_MS: '2000' };
const START_MS = 120_000;

let database: TestDatabase;
let api: TestService;
/** Held until the process is killed. A second attempt says something else. */
let model: HeldModel;
let agentId: string;
beforeAll(async () => {
  database = await createTestDatabase();
  [api, model] = await Promise.all([
    startTestService({ database, env: { ...RUN_LOCK, ROLE: 'api' } }),
    startHeldModel(),
  ]);
  await useScriptedModel(api, model);
  agentId = await createAgent(api, [], SCRIPTED);
}, START_MS);
afterAll(async () => {
  await api?.close();
  await model?.close();
  await database?.drop();
});
expectPublishedShapes();

type Events = AsyncIterator<ResponseStreamEvent>;

/** Reads events until the response has said so much. */
async function readSome(events: Events, deltas: number): Promise<{ seen: ResponseStreamEvent[]; id: string }> {
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

async function startStream(at: Pick<Tenant, 'url' | 'org' | 'apiKey'>): Promise<Events> {
  const events = await openAiClient(at).responses.create({ model: agentId, input: unusedId(), stream: true });
  return events[Symbol.asyncIterator]();
}

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
  let other: TestService;
  /** Of a reader of another process, and of one of the process itself. */
  const readers = {} as Record<'elsewhere' | 'there', { events: Events; seen: ResponseStreamEvent[]; id: string }>;
  /** What the second reader gets when it comes back. */
  let rest: Promise<ResponseStreamEvent[]>;

  beforeAll(async () => {
    const doomed = new ServiceProcess({ ...testEnvironment(database.url), ...RUN_LOCK });
    try {
      const { url } = await doomed.listening();
      const read = async (at: typeof api) => {
        const events = await startStream(at);
        return { events, ...(await readSome(events, 10)) };
      };
      [readers.elsewhere, readers.there] = await Promise.all([read(api), read({ ...api, url })]);
    } finally {
      await doomed.kill('SIGKILL');
    }
    const { events, seen, id } = readers.there;
    for (let next = await nextOf(events); next !== undefined; next = await nextOf(events)) seen.push(next);
    const startingAfter = seen.at(-1)?.sequence_number ?? 0;
    // Before a worker takes the run over, so that what comes is live.
    const opened = await openAiClient(api).responses.retrieve(id, { stream: true, starting_after: startingAfter });
    rest = collect(opened);
    rest.catch(() => undefined);
    other = await startTestService({ database, env: { ...RUN_LOCK, ROLE: 'worker' } });
  }, START_MS);
  afterAll(() => other?.close());

  it(
    'goes on for a reader of another process, with a new item',
    async () => {
      const { events, seen } = readers.elsewhere;
      for (let next = await events.next(); next.done !== true; next = await events.next()) seen.push(next.value);
      await expectWhole(seen);
    },
    START_MS,
  );

  it(
    'goes on at another process for a reader that comes back after its last event',
    async () => expectWhole([...readers.there.seen, ...(await rest)]),
    START_MS,
  );
});

/** What the reader still gets of a connection that is broken; undefined at its end. */
async function nextOf(events: Events): Promise<ResponseStreamEvent | undefined> {
  const next = await events.next().catch(() => undefined);
  return next?.done === true ? undefined : next?.value;
}
