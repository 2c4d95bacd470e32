import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import type { RunTopic } from '../../../src/runtime/events/run-event-store.js';
import { RunEvents } from '../../../src/runtime/events/run-events.js';
import { RunSupervisor } from '../../../src/runtime/worker/run-supervisor.js';
import { RunExecution } from '../../../src/runtime/runs/records/run-execution.js';
import {
  type CollectedStream,
  connect,
  createAgent,
  type StreamFrame,
  ThreadClient,
  unusedId,
} from '../../support/agent-runs.js';
import type { TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { framesUntilDone } from '../../support/stream-frames.js';
import type { StreamBackend } from '../../support/stream-backends.js';
import { startToolServer, type ToolServer } from '../../support/tool-server.js';
import { startWorkerProcess } from '../../support/service-process.js';
import { SCRIPTED, useScriptedModel } from '../approvals/approvals.support.js';
import { HELD_WORDS, type HeldModel, SEARCH_FIRST, startHeldModel } from './held-model.support.js';

const RUN_LOCK_MS = 2_000;
const START_MS = 60_000;
const PATIENCE_MS = 40_000;

type Reading = Promise<CollectedStream>;

const MORE_THAN_ALL = 1_000_000;

/** Where the live buffer's content ends when its server has crashed: frames after this one are lost. */
const LOSSES: [name: string, keptOf: (frames: number) => number][] = [
  ['nothing', () => MORE_THAN_ALL],
  ['the last frames', (frames) => frames - 10],
  ['all but the first frames', () => 3],
  ['everything', () => 0],
];

/** What the model is asked in runs whose worker is killed. A second attempt says something else each time. */
const MESSAGES: [name: string, text: string][] = [
  ['in the first step', 'Answer at once.'],
  ['after a tool call', SEARCH_FIRST],
];

/**
 * What readers get when a worker dies and the live buffer has lost some of what they have: whatever was lost, what a
 * reader has received in the end folds into the stored answer.
 */
export function streamRecoveryContract(name: string, startBackend: () => Promise<StreamBackend>): void {
  describe(`recovery of streams on ${name}`, () => {
    let backend: StreamBackend;
    let api: TestApp;
    let tools: ToolServer;
    let model: HeldModel;
    let agentId: string;

    beforeAll(async () => {
      [backend, tools, model] = await Promise.all([startBackend(), startToolServer('search'), startHeldModel()]);
      api = await backend.start({
        ROLE: 'api',
        RUN_LOCK_MS: String(RUN_LOCK_MS),
        STREAM_KEEP_ALIVE_MS: '200',
        UPSTREAM_ALLOW_PRIVATE: 'true',
      });
      agentId = await createAgent(api, [await connect(api, tools.url)]);
      await useScriptedModel(api, model);
    });

    afterAll(async () => {
      await backend?.close();
      await tools?.close();
      await model?.close();
    });

    /** Waits until the worker has streamed all that comes before the model is released. Returns the frames. */
    const untilHeld = async (taskId: string): Promise<string[]> => {
      const run = await topicOf(api, taskId);
      return eventually(async () => {
        const { frames: stored } = await api.app.get(RunEvents).readStream(run, taskId);
        return stored.filter((frame) => frame.includes('"text-delta"')).length === HELD_WORDS && stored;
      });
    };

    describe('when a worker is killed', () => {
      let survivor: TestApp;
      const runs = MESSAGES.flatMap(([when, text]) => LOSSES.map(([lost, keptOf]) => ({ when, text, lost, keptOf })));
      const watched = new Map<(typeof runs)[number], { thread: ThreadClient; taskId: string; readings: Reading[] }>();

      beforeAll(async () => {
        const env = { RUN_LOCK_MS: String(RUN_LOCK_MS), UPSTREAM_ALLOW_PRIVATE: 'true' };
        const doomed = await startWorkerProcess({ ...backend.env, ...env });
        const opened = await Promise.all(
          runs.map(async (run) => {
            const thread = await ThreadClient.create(api, agentId);
            return { run, thread, streams: await Promise.all([thread.stream(), thread.stream(), thread.stream()]) };
          }),
        );
        // The model is held, so that no run ends before the worker is killed.
        const begun = await Promise.all(
          opened.map(async ({ run, thread, streams: [connected, left, behind] }) => {
            const taskId = await thread.postMessage(`${run.text} ${unusedId()}`, SCRIPTED);
            const frames = connected.frames()[Symbol.asyncIterator]();
            const received = await take(frames, 40);
            const leftWith = await take(left.frames()[Symbol.asyncIterator](), 40);
            const behindWith = await take(behind.frames()[Symbol.asyncIterator](), 2);
            left.close();
            behind.close();
            return { run, thread, taskId, frames, received, leftWith, behindWith };
          }),
        );
        await doomed.kill('SIGKILL');
        for (const { run, thread, taskId, frames, received, leftWith, behindWith } of begun) {
          await backend.lose(taskId, run.keptOf(received.length));
          const readings = [
            framesUntilDone(frames).then((rest) => join([toStream(received), rest])),
            resume(thread, leftWith),
            resume(thread, behindWith),
          ];
          for (const reading of readings) reading.catch(() => undefined);
          watched.set(run, { thread, taskId, readings });
        }
        survivor = await backend.start({ ROLE: 'worker', ...env });
      }, START_MS);

      afterAll(() => survivor?.close());

      it.each(runs)(
        '$when, and the live buffer has lost $lost',
        async (run) => {
          const { thread, taskId, readings } = watched.get(run) ?? raise('The run was not started.');
          for (const reading of readings) await thread.expectAnswer(taskId, await reading);
          await thread.expectWhole(taskId, await thread.collect(taskId, PATIENCE_MS));
          expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2 });
        },
        START_MS,
      );
    });

    describe('when runs are over and their worker has ended', () => {
      type Over = CollectedStream & { thread: ThreadClient; taskId: string };
      const ends = [
        ['completed', '/random 10\n/call search {}\n/random 10', 'finish'],
        ['failed', '/random 10\n/call search {}\n/random 10\n/fail out of coal', 'error'],
      ] as const;
      const over = new Map<string, Over>();

      beforeAll(async () => {
        const worker = await backend.start({ ROLE: 'worker', UPSTREAM_ALLOW_PRIVATE: 'true' });
        const ask = async (name: string, text: string): Promise<void> => {
          const thread = await ThreadClient.create(api, agentId);
          over.set(name, { thread, ...(await thread.ask(text)) });
        };
        const asked = ends.flatMap(([status, text]) => LOSSES.map(([lost]) => ask(`${status} ${lost}`, text)));
        await Promise.all([...asked, ask('whole', '/random 10'), ask('long', '/random 20')]);
        await worker.close();
      }, START_MS);

      const runThat = (name: string): Over => over.get(name) ?? raise('The run was not started.');

      describe.each(ends)('of a run that is %s, but whose stream has no end', (status, _, last) => {
        it.each(LOSSES)('when the live buffer has lost %s', async (lost, keptOf) => {
          const { thread, taskId, ...whole } = runThat(`${status} ${lost}`);
          expect((await thread.run(taskId)).status).toBe(status);
          // The frames are kept, but for those that the loss takes; the end is not.
          await backend.lose(taskId, keptOf(whole.ids.length));
          await backdateEnd(api, taskId);

          const kept = Math.min(keptOf(whole.ids.length), 5);
          const options = kept > 0 ? { lastEventId: whole.ids[kept - 1] ?? '' } : undefined;
          const begun = { ids: whole.ids.slice(0, kept), chunks: whole.chunks.slice(0, kept) };
          // Of what is over and lost as a whole nothing is left to stream.
          if (options === undefined) return expect((await thread.stream({ query: { taskId } })).status).toBe(410);
          const rest = await (await thread.stream(options)).collectUntilDone();
          await thread.expectAnswer(taskId, join([begun, rest]));
          const replayed = await thread.collect(taskId);
          await thread.expectAnswer(taskId, replayed);
          expect(replayed.chunks.at(-1)?.type).toBe(last);
          expect(replayed.chunks.filter(({ type }) => type === last)).toHaveLength(1);
        });
      });

      it('ends a stream at once when the answer is whole and only the end is missing', async () => {
        const { thread, taskId, ...whole } = runThat('whole');
        await backend.lose(taskId, whole.ids.length);
        expect(await thread.collect(taskId)).toEqual(whole);
      });

      it('goes on with a later position that a reader got from the transcript', async () => {
        const { thread, taskId } = runThat('long');
        await backend.lose(taskId, 3);
        await backdateEnd(api, taskId);
        const first = await (await thread.stream({ query: { taskId } })).collectUntilDone();
        await thread.expectAnswer(taskId, first);
        for (let n = 3; n < first.ids.length; n++) {
          const lastEventId = first.ids.slice(0, n).findLast((id) => id !== '') ?? '';
          const rest = await (await thread.stream({ lastEventId })).collectUntilDone();
          const begun = { ids: first.ids.slice(0, n), chunks: first.chunks.slice(0, n) };
          await thread.expectAnswer(taskId, join([begun, rest]));
        }
      });
    });

    it(
      'keeps a worker out whose claim was lost with the stream, and made again',
      async () => {
        const worker = await backend.start({ ROLE: 'worker', RUN_LOCK_MS: String(RUN_LOCK_MS) });
        const [events, execution] = [api.app.get(RunEvents), api.app.get(RunExecution)];
        const thread = await ThreadClient.create(api, agentId);
        const frames = (await thread.stream()).frames()[Symbol.asyncIterator]();
        const taskId = await thread.postMessage(unusedId(), SCRIPTED);
        const received = await take(frames, 20);
        const run = await topicOf(api, taskId);
        // Whatever the first worker streamed after the loss would make it give up its claim.
        const streamed = await untilHeld(taskId);
        await backend.lose(taskId, 0);

        // A second worker takes the run, and has streamed as much as the first when that goes on.
        const second = { runId: taskId, attempt: 1, epoch: 'second' };
        // The first worker does not take it for silent.
        const claim = `UPDATE runs SET epoch = $2, heartbeat_at = now() + interval '1 hour' WHERE id = $1`;
        await api.app.get(DataSource).query(claim, [taskId, second.epoch]);
        const publisher = events.startPublisher(run, taskId, { fence: 1, epoch: second.epoch }, null);
        const others = streamed.map((frame) => frame.replace(/"delta":"[^"]*"/, '"delta":"other "'));
        for (const frame of others) await publisher.push(JSON.parse(frame));
        await publisher.flush();
        model.release();
        await eventually(() => expect(worker.app.get(RunSupervisor).isIdle).toBe(true));
        expect((await events.readStream(run, taskId)).frames).toEqual(others);

        await execution.release(second);
        const rest = await framesUntilDone(frames);
        await thread.expectAnswer(taskId, join([toStream(received), rest]));
        expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2 });
        await worker.close();
      },
      START_MS,
    );

    describe('while the worker lives', () => {
      beforeAll(async () => {
        await backend.start({ ROLE: 'worker', RUN_LOCK_MS: '600000' });
      });

      it('begins again at once when the live buffer has lost the stream', async () => {
        const thread = await ThreadClient.create(api, agentId);
        const frames = (await thread.stream()).frames()[Symbol.asyncIterator]();
        const taskId = await thread.postMessage(unusedId(), SCRIPTED);
        const received = await take(frames, 20);
        // Nothing is written while the stream is lost.
        await untilHeld(taskId);
        await backend.lose(taskId, 0);
        model.release();
        await thread.expectAnswer(taskId, join([toStream(received), await framesUntilDone(frames)]));
        expect(await thread.run(taskId)).toMatchObject({ status: 'completed', attempt: 2 });
      });

      it('sends a reader that has the whole answer nothing again, whatever the live buffer has lost', async () => {
        const thread = await ThreadClient.create(api, agentId);
        const { taskId, ...whole } = await thread.ask('/random 10');
        await backend.lose(taskId, 3);
        const lastEventId = whole.ids.at(-1) ?? '';
        expect(await (await thread.stream({ lastEventId })).collectUntilDone()).toEqual({ ids: [], chunks: [] });

        // With `follow`, it continues with the next run.
        const following = await thread.stream({ lastEventId, query: { follow: 'true' } });
        const next = await thread.postMessage('/random 5');
        const frames = following.frames()[Symbol.asyncIterator]();
        expect(await framesUntilDone(frames)).toEqual({ ids: [], chunks: [] });
        await thread.expectAnswer(next, await framesUntilDone(frames));

        // The transcript completes the stream of a reader that lacks something; it has everything then.
        await backdateEnd(api, taskId);
        const first = await thread.stream({ lastEventId: whole.ids[4] ?? '' });
        const completed = await first.collectUntilDone();
        const again = await thread.stream({ lastEventId: completed.ids.at(-1) ?? '' });
        expect(await again.collectUntilDone()).toEqual({ ids: [], chunks: [] });
      });
    });
  });
}

async function resume(thread: ThreadClient, received: readonly StreamFrame[]): Reading {
  const stream = await thread.stream({ lastEventId: received.at(-1)?.id ?? '' });
  expect(stream.status).toBe(200);
  return join([toStream(received), await stream.collectUntilDone(PATIENCE_MS)]);
}

async function take(frames: AsyncIterator<StreamFrame>, count: number): Promise<StreamFrame[]> {
  const taken: StreamFrame[] = [];
  while (taken.length < count) {
    const { done, value } = await frames.next();
    if (done === true) throw new Error(`The stream ended after ${taken.length} frames.`);
    taken.push(value);
  }
  return taken;
}

function toStream(frames: readonly StreamFrame[]): CollectedStream {
  return { ids: frames.map(({ id = '' }) => id), chunks: frames.map(({ data }) => JSON.parse(data)) };
}

/** What a reader has that received these one after the other. */
function join(streams: readonly CollectedStream[]): CollectedStream {
  return { ids: streams.flatMap(({ ids }) => ids), chunks: streams.flatMap(({ chunks }) => chunks) };
}

/** Makes a run one that was over a minute ago, so that nobody waits for its worker any more. */
async function backdateEnd({ app }: TestApp, taskId: string): Promise<void> {
  await app.get(DataSource).query(`UPDATE runs SET finished_at = now() - interval '1 minute' WHERE id = $1`, [taskId]);
}

function raise(message: string): never {
  throw new Error(message);
}

async function topicOf({ app }: TestApp, runId: string): Promise<RunTopic> {
  const [topic] = await app
    .get(DataSource)
    .query('SELECT organization_id AS "organizationId", thread_id AS "threadId" FROM runs WHERE id = $1', [runId]);
  return topic as RunTopic;
}
