import { ANSWER_CHUNKS } from './answer.mjs';
import { compareForms } from './forms.mjs';
import { measureIdleStreams, measureLatency, measureThroughput } from './measure.mjs';
import { startService } from './service.mjs';
import { turnsOf } from './turns.mjs';

const WARM_UP_RUNS = 50;
const LATENCY_ROUNDS = 4;
const LATENCY_RUNS = 50;
const THROUGHPUT_ROUNDS = 8;
const CALLERS = 16;
const THROUGHPUT_MS = 2500;
const IDLE_STREAMS = 1000;

/**
 * Measures the service and the peer on one backend, and optionally the service of another checkout. They alternate
 * round by round, so that other load on the machine affects all of them.
 * @param {{ apiKey: string, folder: string,
 *   services: Record<'ours' | 'before', { dataDir: string, redisUrl?: string, checkout?: string }>,
 *   openPeer: () => Promise<object> }} backend
 * @returns the same metrics for each service and `peer`, and those of the `forms` of a request of ours
 */
export async function compare({ apiKey, folder, services, openPeer }) {
  const targets = {};
  try {
    for (const [name, service] of Object.entries(services)) targets[name] = await startService({ ...service, apiKey });
    targets.peer = await openPeer();
    return await takeTurns(targets, folder);
  } finally {
    for (const target of Object.values(targets).toReversed()) await target.stop();
  }
}

async function takeTurns(targets, folder) {
  const names = Object.keys(targets);
  const figures = Object.fromEntries(
    names.map((name) => [name, { firstChunk: [], firstWord: [], runsPerSecond: [], kilobytesPerStream: [] }]),
  );
  for (const name of names) await measureLatency(targets[name], WARM_UP_RUNS);
  // The first measurement also counts what is allocated once. So there are two, and the lower one counts.
  for (const name of [...names, ...names]) {
    figures[name].kilobytesPerStream.push(await measureIdleStreams(targets[name], IDLE_STREAMS, folder));
  }
  for (let round = 0; round < LATENCY_ROUNDS; round++) {
    for (const name of turnsOf(round, names)) {
      const { firstChunk, firstWord } = await measureLatency(targets[name], LATENCY_RUNS);
      figures[name].firstChunk.push(...firstChunk);
      figures[name].firstWord.push(...firstWord);
    }
  }
  for (let round = 0; round < THROUGHPUT_ROUNDS; round++) {
    for (const name of turnsOf(round, names)) {
      figures[name].runsPerSecond.push(await measureThroughput(targets[name], CALLERS, THROUGHPUT_MS));
    }
  }
  return { ...figures, forms: await compareForms(targets.ours) };
}

/** The method of measurement, for the report. */
export const METHOD = [
  'First chunk, first word: time from the POST to the arrival at an open reader. The first chunk is `start`; the first',
  `word is the first \`text-delta\`. One caller, ${LATENCY_ROUNDS * LATENCY_RUNS} runs, each on a new thread, after ${WARM_UP_RUNS} warm-up runs.`,
  `Runs per second: ${CALLERS} parallel callers, each with an open stream, POST to [DONE]; median of ${THROUGHPUT_ROUNDS} rounds`,
  `of ${THROUGHPUT_MS / 1000} s.`,
  'Memory: growth of heap and external buffers, after a forced garbage collection, for',
  `${IDLE_STREAMS} streams on separate threads; the lower of two measurements.`,
  'Peer: only BullMQ and node:http, in one process, on a server of its own: the POST adds a job, and the worker writes',
  'as many chunks and [DONE] to the open socket in the process. It has no authentication, no validation, no storage, no',
  'model, and no live buffer.',
  `Each answer has ${ANSWER_CHUNKS} chunks. Ours: one process (ROLE=all). Separate processes generate the load. The rounds`,
  'of ours and peer alternate.',
];
