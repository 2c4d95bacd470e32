import { measureIdleStreams, measureLatency, measureThroughput } from './measure.mjs';
import { startService } from './service.mjs';

const WARM_UP_RUNS = 50;
const LATENCY_ROUNDS = 4;
const LATENCY_RUNS = 50;
const THROUGHPUT_ROUNDS = 3;
const CALLERS = 16;
const THROUGHPUT_MS = 2500;
const IDLE_STREAMS = 1000;

/**
 * Measures the service and the peer on one backend, and the service of another checkout if there is one. They take turns round
 * by round, so that what else the machine does hits all of them.
 * @param {{ apiKey: string, folder: string, services: Record<'ours' | 'before', { dataDir: string, redisUrl?: string, checkout?: string }>,
 * startPeerOf: (dataDir: string) => Promise<object> }} backend
 * @returns the same figures for each service and `peer`
 */
export async function compare({ apiKey, folder, services, startPeerOf }) {
  const targets = {};
  try {
    for (const [name, service] of Object.entries(services)) targets[name] = await startService({ ...service, apiKey });
    // The embedded database belongs to the service and runs as long as it does.
    targets.peer = await startPeerOf(services.ours.dataDir);
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
  for (const name of names) {
    figures[name].kilobytesPerStream.push(await measureIdleStreams(targets[name], IDLE_STREAMS, folder));
  }
  for (let round = 0; round < LATENCY_ROUNDS; round++) {
    for (const name of names) {
      const { firstChunk, firstWord } = await measureLatency(targets[name], LATENCY_RUNS);
      figures[name].firstChunk.push(...firstChunk);
      figures[name].firstWord.push(...firstWord);
    }
  }
  for (let round = 0; round < THROUGHPUT_ROUNDS; round++) {
    for (const name of names) {
      figures[name].runsPerSecond.push(await measureThroughput(targets[name], CALLERS, THROUGHPUT_MS));
    }
  }
  return figures;
}

/** How it was measured, for the report. */
export const METHOD = [
  `First chunk, first word: from the POST to the arrival at a reader that was open before; one caller, ${LATENCY_ROUNDS * LATENCY_RUNS} runs, each on a`,
  `new thread, after ${WARM_UP_RUNS} runs to warm up. The first chunk is \`start\`, the first word the first \`text-delta\`.`,
  `Runs per second: ${CALLERS} callers at once, each with an open stream, POST to [DONE]; median of ${THROUGHPUT_ROUNDS} rounds of ${THROUGHPUT_MS / 1000} s.`,
  `Memory: growth of heap and external buffers (after a forced collection of garbage) by ${IDLE_STREAMS} streams, each on a`,
  'thread of its own.',
  'Peer: BullMQ and node:http alone, one process on the same server: POST adds a job, the worker writes one chunk and [DONE]',
  'to the open socket inside the process. It checks nothing, stores nothing, and has no model and no buffer for late readers.',
  'Ours: one process (ROLE=all). The load comes from processes of its own. Rounds of ours and peer alternate.',
];
