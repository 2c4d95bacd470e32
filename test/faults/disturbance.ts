import { setTimeout as sleep } from 'node:timers/promises';
import type { Place, Processes } from './processes.js';
import type { Random } from './random.js';
import type { Store } from './stores.js';

const LEAST_PAUSE_MS = 1_000;
const MOST_PAUSE_MS = 4_000;
/** How many runs end between two faults, at least: a run that loses five workers fails, as it should. */
const LEAST_RUNS_BETWEEN = 2;
const MOST_RUNS_BETWEEN = 6;
const POLL_MS = 50;
const POSTGRES_SIGNALS = ['SIGINT', 'SIGQUIT', 'SIGKILL'] as const;
const REDIS_SIGNALS = ['SIGTERM', 'SIGKILL'] as const;

export interface DisturbanceOptions {
  readonly processes: Processes;
  readonly postgres: Store;
  readonly redis: Store | undefined;
  /** How many runs are over, and how many there will be. */
  readonly progress: () => { readonly over: number; readonly runs: number };
  readonly log: (line: string) => void;
}

/**
 * Ends processes at random and restarts each store once, somewhere in the first half of the trial. Resolves
 * after the signal aborts, with what was done to the stores. The pace follows the service, so that a slow machine has the
 * same faults in more time.
 */
export async function disturb(random: Random, options: DisturbanceOptions, signal: AbortSignal): Promise<string[]> {
  const { processes, postgres, redis, progress, log } = options;
  const restarts = [
    { name: 'PostgreSQL', store: postgres, signal: random.pick(POSTGRES_SIGNALS), at: random.next() / 2 },
    ...(redis ? [{ name: 'Redis', store: redis, signal: random.pick(REDIS_SIGNALS), at: random.next() / 2 }] : []),
  ];
  const done: string[] = [];
  while (!signal.aborted) {
    const { over, runs } = progress();
    const due = restarts.findIndex(({ at }) => over / runs >= at);
    if (due >= 0) {
      const [{ name, store, signal: how }] = restarts.splice(due, 1) as [(typeof restarts)[number]];
      log(`restart ${name} with ${how}`);
      await store.restart(how);
      done.push(`${name} ${how}`);
    }
    const how = random.chance(0.5) ? 'SIGKILL' : 'SIGTERM';
    const pause = random.integer(LEAST_PAUSE_MS, MOST_PAUSE_MS);
    const enough = over + random.integer(LEAST_RUNS_BETWEEN, MOST_RUNS_BETWEEN);
    const mayBeStarting = random.chance(0.2);
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    const victims = (): Place[] =>
      processes.places.filter((place) => processes.isUndisturbed(place) && (mayBeStarting || processes.isReady(place)));
    while (!signal.aborted && (progress().over < enough || victims().length === 0)) await sleep(POLL_MS);
    if (signal.aborted) break;
    const place = random.pick(victims());
    log(`${how} to ${place.role} at ${place.url}`);
    // A process that takes its time to stop does not delay the next fault.
    void processes.end(place, how);
  }
  return done;
}
