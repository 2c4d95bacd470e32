import { describe, expect, it } from '@jest/globals';
import { setImmediate as tick } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AppConfig } from '../../core/config/app-config.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import type { RunClaim } from '../runs/records/run-attempt.js';
import type { RunExecution } from '../runs/records/run-execution.js';
import type { PassedOver, RunTurns } from '../runs/records/run-turns.js';
import { newEpoch } from '../../core/epochs.js';
import { RunSlots } from './run-slots.js';
import type { WorkerLock } from './worker-lock.js';

type Execution = Pick<RunExecution, 'claim'>;

/** Slots of a worker whose database gives these answers. */
function slotsOf(claim: Execution['claim'], findNext: RunTurns['findNext'] = async () => undefined): RunSlots {
  const config = { settings: { runConcurrency: 4, runLockMs: 30_000 } } as AppConfig;
  return new RunSlots(config, { claim } as RunExecution, { findNext } as RunTurns, { newEpoch } as WorkerLock);
}

function runOf(apiKeyId: string, id = apiKeyId): ClaimedRun {
  return { id, attempt: 1, organizationId: `o-${apiKeyId}`, apiKeyId, userId: 'u' } as ClaimedRun;
}

describe('RunSlots', () => {
  it('releases finished runs for garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const slots = slotsOf(async ({ runId }) => runOf(runId));
    const over = await Promise.all(
      ['a', 'b', 'c'].map(async (runId) => {
        const run = await slots.take({ runId, attempt: 1 });
        if (run !== undefined) slots.free(run);
        return new WeakRef(run ?? {});
      }),
    );
    await tick();
    collect();
    expect(over.map((run) => run.deref())).toEqual([undefined, undefined, undefined]);
  });

  it('starts a run that was passed over while its share became free', async () => {
    const waiting = new Map<string, ClaimedRun>(['a1', 'a2', 'a3'].map((id) => [id, runOf('a', id)]));
    const busy = Promise.withResolvers<void>();
    const slots = slotsOf(
      async ({ runId }: RunClaim, passedOver?: PassedOver) => {
        if (passedOver?.holders.includes('a') === true) return void (await busy.promise);
        const run = waiting.get(runId);
        waiting.delete(runId);
        return run;
      },
      async ({ holders }) => {
        const [next] = waiting.keys();
        return next === undefined || holders.includes('a') ? undefined : { runId: next, attempt: 1 };
      },
    );
    const first = await slots.take({ runId: 'a1', attempt: 1 });
    const second = await slots.take({ runId: 'a2', attempt: 1 });
    const third = slots.take({ runId: 'a3', attempt: 1 });
    await tick();
    for (const run of [first, second]) {
      if (run !== undefined) slots.free(run);
      expect(await slots.takeNext()).toBeUndefined();
    }
    busy.resolve();
    expect(await third).toMatchObject({ id: 'a3' });
  });
});
