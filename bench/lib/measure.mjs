import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ANSWER_CHUNKS } from './answer.mjs';
import { Child } from './child.mjs';
import { memoryFile } from './memory-file.mjs';
import { EventReader, postJson } from './http-client.mjs';

const IDLE_READERS = fileURLToPath(new URL('idle-readers.mjs', import.meta.url));
const THREADS_AT_ONCE = 16;
/** After this time the memory of the service has settled. */
const SETTLE_MS = 2000;

/**
 * Measures sequential runs, each on a new thread whose stream is open before the POST.
 * @returns {Promise<{ firstChunk: number[], firstWord: number[] }>} milliseconds from the POST to the arrival
 */
export async function measureLatency(target, runs) {
  const firstChunk = [];
  const firstWord = [];
  for (let i = 0; i < runs; i++) {
    const thread = await target.newThread();
    const reader = await EventReader.open(thread.stream, target.headers);
    const start = performance.now();
    const posted = postJson(thread.messages, target.headers, target.body);
    const events = await readRun(reader);
    await posted;
    reader.close();
    if (events.length !== ANSWER_CHUNKS)
      throw new Error(`An answer has ${events.length} chunks: ${events.at(-1)?.data}`);
    firstChunk.push(events[0].at - start);
    const word = events.find(({ data }) => data.includes('"text-delta"'));
    if (word !== undefined) firstWord.push(word.at - start);
  }
  return { firstChunk, firstWord };
}

/**
 * Measures parallel callers. Each posts its next run when its open stream has received `[DONE]` of the previous one.
 * @returns runs per second
 */
export async function measureThroughput(target, callers, forMs) {
  const open = await openCallers(target, callers);
  const start = performance.now();
  const runs = await postInTurns(target, open, () => performance.now() - start >= forMs);
  const seconds = (performance.now() - start) / 1000;
  open.forEach(({ reader }) => reader.close());
  return runs / seconds;
}

/** Opens the streams of new threads, one for each caller. */
export function openCallers(target, callers) {
  return Promise.all(
    Array.from({ length: callers }, async () => {
      const thread = await target.newThread();
      return { thread, reader: await EventReader.open(thread.stream, target.headers) };
    }),
  );
}

/**
 * Each caller posts its runs one after the other.
 * @param {(runs: number) => boolean} isOver called with the number of runs of a caller, before its next one
 * @returns the number of all runs
 */
export async function postInTurns(target, open, isOver) {
  const counts = await Promise.all(
    open.map(async ({ thread, reader }) => {
      let runs = 0;
      for (; !isOver(runs); runs += 1) {
        await Promise.all([postJson(thread.messages, target.headers, target.body), readRun(reader)]);
      }
      return runs;
    }),
  );
  return counts.reduce((sum, runs) => sum + runs, 0);
}

/**
 * Measures the memory of an idle stream: the growth of the process when it opens streams on as many threads.
 * @returns kilobytes per stream
 */
export async function measureIdleStreams(target, count, folder) {
  const streams = [];
  for (let i = 0; i < count; i += THREADS_AT_ONCE) {
    const some = Math.min(THREADS_AT_ONCE, count - i);
    const threads = await Promise.all(Array.from({ length: some }, () => target.newThread()));
    streams.push(...threads.map(({ stream }) => stream));
  }
  const file = join(folder, 'idle-readers.json');
  await writeFile(file, JSON.stringify({ headers: target.headers, streams }), { mode: 0o600 });
  const before = await heldKilobytes(target.pid);
  const readers = new Child(process.execPath, [IDLE_READERS, file]);
  try {
    await readers.line(/^(open)$/);
    return ((await heldKilobytes(target.pid)) - before) / count;
  } finally {
    await readers.stop();
  }
}

/** The heap and external buffers of the program after a garbage collection. */
async function heldKilobytes(pid) {
  await sleep(SETTLE_MS);
  process.kill(pid, 'SIGUSR2');
  await sleep(SETTLE_MS);
  const file = memoryFile(pid);
  const { heapUsed, external } = JSON.parse(await readFile(file, 'utf8'));
  await rm(file);
  return (heapUsed + external) / 1024;
}

async function readRun(reader) {
  const events = [];
  for (;;) {
    const event = await reader.next();
    if (event.data === '[DONE]') return events;
    events.push(event);
  }
}
