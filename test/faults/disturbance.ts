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

interface DisturbanceOptions {
  readonly processes: Processes;
  readonly postgres: Store;
  readonly redis: Store | undefined;
  /** How many runs are over. */
  readonly over: () => number;
  /**
   * The number of runs after which both stores have been restarted. The restarts follow each other at random before it.
   */
  readonly restartsWithin: number;
  /** Called when each store has been restarted. */
  readonly onStoresRestarted: () => void;
  readonly log: (line: string) => void;
}

/**
 * Ends processes at random and restarts each store once. Resolves after the signal aborts, with what was done to the
 * stores. The pace follows the service, so that a slow machine has the same faults in more time.
 */
export async function disturb(random: Random, options: DisturbanceOptions, signal: AbortSignal): Promise<string[]> {
  const { processes, postgres, redis, over, restartsWithin, onStoresRestarted, log } = options;
  const plan = (name: string, store: Store, signals: readonly NodeJS.Signals[]) => ({
    name,
    store,
    signal: random.pick(signals),
    at: random.next() * restartsWithin,
  });
  const restarts = [
    plan('PostgreSQL', postgres, POSTGRES_SIGNALS),
    ...(redis ? [plan('Redis', redis, REDIS_SIGNALS)] : []),
  ].toSorted((one, other) => one.at - other.at);
  const isRestartDue = (): boolean => restarts[0] !== undefined && over() >= restarts[0].at;
  const done: string[] = [];
  while (!signal.aborted) {
    const due = isRestartDue() ? restarts.shift() : undefined;
    if (due) {
      log(`restart ${due.name} with ${due.signal}`);
      await due.store.restart(due.signal);
      done.push(`${due.name} ${due.signal}`);
      if (restarts.length === 0) onStoresRestarted();
    }
    const how = random.chance(0.5) ? 'SIGKILL' : 'SIGTERM';
    const pause = random.integer(LEAST_PAUSE_MS, MOST_PAUSE_MS);
    const enough = over() + random.integer(LEAST_RUNS_BETWEEN, MOST_RUNS_BETWEEN);
    const mayBeStarting = random.chance(0.2);
    await sleep(pause, undefined, { signal }).catch(() => undefined);
    const victims = (): Place[] =>
      processes.places.filter((place) => processes.isUndisturbed(place) && (mayBeStarting || processes.isReady(place)));
    while (!signal.aborted && !isRestartDue() && (over() < enough || victims().length === 0)) await sleep(POLL_MS);
    if (signal.aborted) break;
    if (isRestartDue()) continue;
    const place = random.pick(victims());
    log(`${how} to ${place.role} at ${place.url}`);
    // A process that takes its time to stop does not delay the next fault.
    void processes.end(place, how);
  }
  return done;
}
