import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunExecution } from '../runs/records/run-execution.js';
import type { NextRun } from '../runs/records/run-finish.js';
import { type PassedOver, RunTurns, type Tenant } from '../runs/records/run-turns.js';
import { SlotShares } from './slot-shares.js';
import { WorkerLock } from './worker-lock.js';

/** How long the results "no run can start" and "no tenant waits" stay valid, unless a slot becomes free. */
const RECHECK_MS = 100;
const MAX_TRIES = 3;
const MAX_CLAIMS = 20;

/**
 * The slots for runs in this process. While slots are free, a run starts when its job arrives. Otherwise a job only
 * signals that runs wait, and the database decides which run is next, so neither the order nor the length of the queue
 * matters.
 */
@Injectable()
export class RunSlots {
  private readonly logger = new Logger(RunSlots.name);
  private readonly shares: SlotShares;
  private readonly stalledAfterMs: number;
  private hasWaiting = false;
  private nextSearchAt = 0;
  private nextYieldCheckAt = 0;
  /** Claims in progress; they never reject. */
  private readonly claims = new Set<Promise<void>>();
  /** The last search for a waiting run; it never rejects. */
  private search: Promise<unknown> = Promise.resolve();

  constructor(
    config: AppConfig,
    private readonly execution: RunExecution,
    private readonly turns: RunTurns,
    private readonly lock: WorkerLock,
  ) {
    this.shares = new SlotShares(config.settings.runConcurrency);
    this.stalledAfterMs = config.settings.runLockMs * 0.75;
  }

  /** True if runs may be waiting whose jobs are already consumed. */
  get isContended(): boolean {
    return this.hasWaiting;
  }

  /** Claims a run for the slot of this job: the job's own run, or a run of a tenant that has fewer running. */
  async take(job: NextRun): Promise<ClaimedRun | undefined> {
    // A slot may have become free while the job's own run was passed over; its `takeNext` did not find the run yet.
    return (await this.takeNext()) ?? (await this.claim(job)) ?? (await this.takeNext());
  }

  /**
   * Claims the next run for a slot that has become free; undefined if no run waits, or none that can run here now. One
   * search at a time: several at once would find the same run, and all but one of them fail to claim it.
   */
  async takeNext(): Promise<ClaimedRun | undefined> {
    const found = this.search.then(() => this.searchNext());
    this.search = found.catch(noop);
    return found;
  }

  private async searchNext(): Promise<ClaimedRun | undefined> {
    for (let tries = 0; tries < MAX_TRIES && this.hasWaiting && performance.now() >= this.nextSearchAt; tries++) {
      const passedOver = this.shares.exhausted();
      const next = await this.turns.findNext(passedOver, this.stalledAfterMs);
      if (next === undefined) {
        this.nextSearchAt = performance.now() + RECHECK_MS;
        if (isEmpty(passedOver) && isEmpty(this.shares.exhausted())) this.hasWaiting = false;
        return undefined;
      }
      const run = await this.claim(next);
      if (run !== undefined) return run;
    }
    return undefined;
  }

  /** Takes a slot for a run of the tenant that is about to start; false unless the tenant can have one now. */
  reserve(tenant: Tenant): boolean {
    if (this.hasWaiting || !this.shares.hasRoomFor(this.claims.size + 1)) return false;
    const { organizations, holders } = this.shares.exhausted(this.claims.size);
    if (organizations.includes(tenant.organizationId) || holders.includes(tenant.holderId)) return false;
    this.occupy(tenant);
    return true;
  }

  /** Gives a reserved slot back. */
  release(tenant: Tenant): void {
    this.shares.remove(tenant);
    this.nextSearchAt = 0;
  }

  /** Releases the slot of this run. Its end may let another run of its organization start. */
  free(run: ClaimedRun): void {
    this.release(tenantOf(run));
    if (run.isLimited) this.hasWaiting = true;
  }

  /** True if this run should release its slot before its next step. Makes no query while slots are free. */
  async shouldYield(run: ClaimedRun): Promise<boolean> {
    const tenant = tenantOf(run);
    const now = performance.now();
    if (!this.shares.isShort(tenant) || now < this.nextYieldCheckAt) return false;
    this.nextYieldCheckAt = now + RECHECK_MS;
    try {
      const owed = await this.turns.isOwedBy(tenant, RECHECK_MS);
      this.hasWaiting ||= owed;
      return owed;
    } catch (error) {
      this.logger.warn({ err: error }, 'Cannot determine whether a run waits for a slot');
      return false;
    }
  }

  /**
   * The tenant of a run is known only after its claim, so claims in progress count against every tenant. A run that was
   * passed over only because of them is tried again.
   */
  private async claim(job: NextRun): Promise<ClaimedRun | undefined> {
    for (let tries = 1; ; tries++) {
      while (!this.shares.hasRoomFor(this.claims.size + 1)) await Promise.race(this.claims);
      const passedOver = this.shares.exhausted(this.claims.size);
      const claim = this.claimNow(job, passedOver);
      const settled = claim.then(noop, noop).finally(() => this.claims.delete(settled));
      this.claims.add(settled);
      const run = await claim;
      if (run !== undefined || tries === MAX_CLAIMS || isSubset(passedOver, this.shares.exhausted())) return run;
      if (this.claims.size > 0) await Promise.race(this.claims);
    }
  }

  private async claimNow(job: NextRun, passedOver: PassedOver): Promise<ClaimedRun | undefined> {
    const run = await this.execution.claim({ ...job, epoch: this.lock.newEpoch() }, passedOver);
    // A run that cannot start because of its organization's limit must not delay those behind it in the queue.
    if (run === undefined) this.hasWaiting = true;
    else this.occupy(tenantOf(run));
    return run;
  }

  private occupy(tenant: Tenant): void {
    this.shares.add(tenant);
    if (this.shares.isFull) this.hasWaiting = true;
  }
}

function noop(): void {}

/** True if the second list contains every tenant in the first. */
function isSubset(some: PassedOver, all: PassedOver): boolean {
  return (
    some.organizations.every((id) => all.organizations.includes(id)) &&
    some.holders.every((id) => all.holders.includes(id))
  );
}

function tenantOf({ organizationId, holderId }: ClaimedRun): Tenant {
  return { organizationId, holderId };
}

function isEmpty({ organizations, holders }: PassedOver): boolean {
  return organizations.length === 0 && holders.length === 0;
}
