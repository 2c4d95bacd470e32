import { expect, it } from '@jest/globals';
import { redisServerCommand } from '../support/redis-server.js';
import { formatReport } from './report.js';
import { type Backend, runTrial } from './trial.js';

/** The short form of `npm run test:faults`. */
const SHORT = { seed: '1', runs: 40, threads: 12 };
/** For a busy machine: the pace of the faults follows the service. */
const WITHIN_MS = 900_000;

const hasRedis = redisServerCommand() !== undefined;
if (!hasRedis) console.warn('Neither redis-server nor valkey-server is on the PATH. Skipping the trials on Redis.');
const backends: Backend[] = ['postgres', ...(hasRedis ? (['redis-losing-all'] as const) : [])];

it.each(backends)(
  'every accepted message is answered once, and every reader gets the whole stream, under faults on %s',
  async (backend) => {
    const report = await runTrial({ ...SHORT, backend });
    process.stdout.write(formatReport(report));
    expect(report.faults).toEqual([]);
    const { accepted, answered, readers, expiredReaders, foldedStreams, approved, denied, contested } = report.counts;
    expect({ accepted, answered }).toEqual({ accepted: SHORT.runs, answered: SHORT.runs });
    expect(foldedStreams + expiredReaders).toBe(readers);
    // A Redis that loses everything takes the streams of a few runs with it, never of most.
    expect(foldedStreams).toBeGreaterThan(readers / 2);
    expect([approved, denied, contested]).not.toContain(0);
    expect(Object.values(report.kills).reduce((sum, kills) => sum + kills)).toBeGreaterThan(2);
  },
  WITHIN_MS,
);
