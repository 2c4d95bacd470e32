import { describe, expect, it } from '@jest/globals';
import { by } from '../../../test/support/run-event-probes.js';
import { ScriptedRunEventStore } from '../../../test/support/scripted-run-event-store.js';
import type { PreviousRun } from '../events/run-event-store.js';
import { TopicReader } from '../events/topic-reader.js';
import { NOTHING_READ } from './run-frames.js';
import { type StreamedRun, RunStream } from './run-stream.js';

const topic = { organizationId: 'o', threadId: 't' };
const query = { taskId: undefined, after: NOTHING_READ, follow: false, idle204: false, aiVersion: undefined };

/** A reader that waits on an idle thread whose last run is `previousId`. `posted` is what the database says next. */
async function waiting(previousId: string | undefined, posted: StreamedRun | undefined) {
  const store = new ScriptedRunEventStore();
  await store.open(topic, 'next', by(1));
  const looks: (string | undefined)[] = [];
  const findNext = async (id: string | undefined): Promise<StreamedRun | undefined> => {
    looks.push(id);
    return looks.length === 1 ? undefined : posted;
  };
  const complete = async (): Promise<undefined> => undefined;
  const records = { findNext, complete, findRun: async () => undefined };
  const stream = new RunStream(await TopicReader.open(store, topic), query, { run: undefined, previousId }, records);
  const frames = collect(stream.frames());
  await new Promise(setImmediate);
  /** The whole of a run as one batch. */
  const signal = (runId: string, follows?: PreviousRun): void => {
    const batch = { runId, epoch: 'e1', first: 1, frames: [`"${runId}"`], end: true };
    store.signal({ type: 'batch', ...batch, ...(follows === undefined ? {} : { follows }) });
  };
  return { frames, signal, looks };
}

async function collect(frames: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of frames) text += part;
  return text;
}

describe('RunStream on an idle thread', () => {
  const next = 'id: next:1.0.e1.0\ndata: "next"\n\ndata: [DONE]\n\n';

  it.each([
    ['the last run', 'last', 'last'],
    ['no run', undefined, null],
  ])('carries a run that says to follow %s, without another look', async (_, previousId, follows) => {
    const { frames, signal, looks } = await waiting(previousId, undefined);
    signal('next', follows);
    expect(await frames).toBe(next);
    expect(looks).toEqual([previousId]);
  });

  it.each([
    ['another run', 'other'],
    ['no run, though one was before', null],
    ['nothing', undefined],
  ])('looks which run is next when a signal says to follow %s', async (_, follows) => {
    const { frames, signal, looks } = await waiting('last', { id: 'next', mayBeUnstarted: true });
    signal('cancelled while it waited', follows);
    await new Promise(setImmediate);
    signal('next', 'last');
    expect(await frames).toBe(next);
    expect(looks).toEqual(['last', 'last']);
  });
});
