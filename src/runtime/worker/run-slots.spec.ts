import { describe, expect, it } from '@jest/globals';
import { setImmediate as tick } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AppConfig } from '../../core/config/app-config.js';
import { newEpoch } from '../../core/epochs.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import type { RunTurns } from '../runs/records/run-turns.js';
import { RunSlots, SlotShares } from './run-slots.js';
import type { WorkerLock } from './worker-liveness.js';

/** Four slots, of which one holder can have two. */
function slotsOf(claimNextRun: RunTurns['claimNextRun']): RunSlots {
  const config = { settings: { runConcurrency: 4, runLockMs: 30_000 } } as AppConfig;
  return new RunSlots(config, { claimNextRun } as RunTurns, { newEpoch } as WorkerLock);
}

function runOf(holderId: string, id = holderId): ClaimedRun {
  return { id, organizationId: `o-${holderId}`, holderId } as ClaimedRun;
}

/** A database in which these runs wait. It answers each search when it is asked for its answer. */
class WaitingRuns {
  searches = 0;
  answering: Promise<unknown> = Promise.resolve();

  constructor(private readonly runs: ClaimedRun[]) {}

  readonly claimNextRun: RunTurns['claimNextRun'] = async (_epoch, _own, _silentMs, passedOver) => {
    this.searches++;
    const index = this.runs.findIndex(({ holderId }) => passedOver?.holders.includes(holderId) !== true);
    const waits = this.runs.length > 0;
    const [run] = index < 0 ? [] : this.runs.splice(index, 1);
    await this.answering;
    if (run !== undefined) return { outcome: 'claimed', run };
    return { outcome: waits ? 'passed_over' : 'none' };
  };

  post(run: ClaimedRun): void {
    this.runs.push(run);
  }
}

describe('RunSlots', () => {
  it('releases finished runs for garbage collection', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const slots = slotsOf(async () => ({ outcome: 'claimed', run: runOf('a') }));
    const over = await Promise.all(
      ['a', 'b', 'c'].map(async () => {
        const run = await slots.claimNextRun();
        if (run !== undefined) slots.free(run);
        return new WeakRef(run ?? {});
      }),
    );
    await slots.claimWaitingRun();
    await tick();
    collect();
    expect(over.map((run) => run.deref())).toEqual([undefined, undefined, undefined]);
  });

  it('starts a run that was passed over once its share is free', async () => {
    const waiting = new WaitingRuns(['a1', 'a2', 'a3'].map((id) => runOf('a', id)));
    const slots = slotsOf(waiting.claimNextRun);
    const first = (await slots.claimNextRun()) as ClaimedRun;
    await slots.claimNextRun();
    const busy = Promise.withResolvers<void>();
    waiting.answering = busy.promise;
    const third = slots.claimNextRun();
    await tick();
    slots.free(first);
    const freed = slots.claimWaitingRun();
    busy.resolve();
    expect(await third).toBeUndefined();
    expect(await freed).toMatchObject({ id: 'a3' });
  });

  it('searches for a wake-up that comes during a search without a result', async () => {
    const waiting = new WaitingRuns([]);
    const slots = slotsOf(waiting.claimNextRun);
    const busy = Promise.withResolvers<void>();
    waiting.answering = busy.promise;
    const before = slots.claimNextRun();
    await tick();
    waiting.post(runOf('a'));
    const woken = slots.claimNextRun();
    busy.resolve();
    expect(await before).toBeUndefined();
    expect(await woken).toMatchObject({ id: 'a' });
  });

  it('searches again for a run that another worker was faster with', async () => {
    const waiting = new WaitingRuns([runOf('a')]);
    let misses = 3;
    const slots = slotsOf(async (...search) =>
      misses-- > 0 ? { outcome: 'missed' } : waiting.claimNextRun(...search),
    );
    expect(await slots.claimNextRun()).toMatchObject({ id: 'a' });
  });

  it('makes no query for a slot that becomes free while no run waits', async () => {
    const waiting = new WaitingRuns([runOf('a')]);
    const slots = slotsOf(waiting.claimNextRun);
    slots.free((await slots.claimNextRun()) as ClaimedRun);
    expect(await slots.claimWaitingRun()).toBeUndefined();
    expect(waiting.searches).toBe(1);
  });

  it('starts no posted run before those that wait', async () => {
    const waiting = new WaitingRuns(['a1', 'a2', 'a3'].map((id) => runOf('a', id)));
    const slots = slotsOf(waiting.claimNextRun);
    for (let n = 0; n < 3; n++) await slots.claimNextRun();
    expect(slots.isContended).toBe(true);
    expect(slots.reserve(runOf('b'))).toBeUndefined();
  });
});

function taken(shares: SlotShares, organizationId: string, holderId: string): number {
  const tenant = { organizationId, holderId };
  let count = 0;
  while (!shares.isFull) {
    const { organizations, holders } = shares.exhausted();
    if (organizations.includes(organizationId) || holders.includes(holderId)) break;
    shares.add(tenant);
    count += 1;
  }
  return count;
}

describe('SlotShares', () => {
  it.each([
    [50, 44, 3, 3],
    [4, 2, 1, 1],
    [2, 2, 0, 0],
    [1, 1, 0, 0],
  ])(
    'of %i slots, grants one key %i, another key of its organization %i, and another organization %i',
    (slots, ...share) => {
      const shares = new SlotShares(slots);
      expect([taken(shares, 'a', 'one'), taken(shares, 'a', 'two'), taken(shares, 'b', 'three')]).toEqual(share);
    },
  );

  it('releases slots', () => {
    const shares = new SlotShares(10);
    const tenant = { organizationId: 'a', holderId: 'one' };
    for (let n = 0; n < 8; n++) shares.add(tenant);
    expect(shares.exhausted()).toEqual({ organizations: [], holders: ['one'] });
    expect(shares.isShort(tenant)).toBe(false);
    shares.remove(tenant);
    expect(shares.exhausted()).toEqual({ organizations: [], holders: [] });
  });

  it('counts claims in progress against every tenant', () => {
    const shares = new SlotShares(10);
    shares.add({ organizationId: 'a', holderId: 'one' });
    expect(shares.exhausted(6)).toEqual({ organizations: [], holders: [] });
    expect(shares.exhausted(7)).toEqual({ organizations: [], holders: ['one'] });
    expect(shares.exhausted(8)).toEqual({ organizations: ['a'], holders: ['one'] });
  });
});
