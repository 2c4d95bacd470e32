import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { newEpoch } from '../events/frame-position.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunExecution } from '../runs/records/run-execution.js';
import type { NextRun } from '../runs/records/run-finish.js';
import { type PassedOver, RunTurns, type Tenant } from '../runs/records/run-turns.js';
import { SlotShares } from './slot-shares.js';

/** How long the answer "nobody can start" or "nobody waits" is believed, unless a slot becomes free. */
const RECHECK_MS = 100;
const MAX_TRIES = 3;
const MAX_CLAIMS = 20;

/**
 * The slots for runs of this process. While there is room a run starts when its job comes. When not, jobs only say that something
 * waits, and the database decides whose run is next; so neither the order of the queue nor its length matters.
 */
@Injectable()
export class RunSlots {
  private readonly logger = new Logger(RunSlots.name);
  private readonly shares: SlotShares;
  private readonly silentMs: number;
  /** Runs may be waiting whose jobs are gone. */
  private isContended = false;
  private noneBefore = 0;
  private notOwedBefore = 0;
  /** Claims under way; they never reject. */
  private readonly claims = new Set<Promise<void>>();

  constructor(
    config: AppConfig,
    private readonly execution: RunExecution,
    private readonly turns: RunTurns,
  ) {
    this.shares = new SlotShares(config.settings.runConcurrency);
    this.silentMs = config.settings.runLockMs * 0.75;
  }

  /** Claims a run for the slot in which this job came: the job's own, or that of somebody who has less running. */
  async take(job: NextRun): Promise<ClaimedRun | undefined> {
    // A slot may have become free while the job's own run was passed over; whoever freed it did not know of the run yet.
    return (await this.takeNext()) ?? (await this.claim(job)) ?? (await this.takeNext());
  }

  /** Claims what should run in a slot that has just become free; undefined if nothing waits, or nothing that may run here now. */
  async takeNext(): Promise<ClaimedRun | undefined> {
    for (let tries = 0; tries < MAX_TRIES && this.isContended && performance.now() >= this.noneBefore; tries++) {
      const passedOver = this.shares.exhausted();
      const next = await this.turns.findNext(passedOver, this.silentMs);
      if (next === undefined) {
        this.noneBefore = performance.now() + RECHECK_MS;
        if (isEmpty(passedOver) && isEmpty(this.shares.exhausted())) this.isContended = false;
        return undefined;
      }
      const run = await this.claim(next);
      if (run !== undefined) return run;
    }
    return undefined;
  }

  /** The slot of this run is free again. */
  free(run: ClaimedRun): void {
    this.shares.remove(tenantOf(run));
    this.noneBefore = 0;
  }

  /** Should this run give its slot up before its next step? Costs nothing while there is room. */
  async shouldYield(run: ClaimedRun): Promise<boolean> {
    const tenant = tenantOf(run);
    const now = performance.now();
    if (!this.shares.isShort(tenant) || now < this.notOwedBefore) return false;
    this.notOwedBefore = now + RECHECK_MS;
    try {
      const owed = await this.turns.isOwedBy(tenant, RECHECK_MS);
      this.isContended ||= owed;
      return owed;
    } catch (error) {
      this.logger.warn({ err: error }, 'Whether somebody waits for a slot could not be read');
      return false;
    }
  }

  /**
   * Whose a run is shows when it is claimed, so claims under way count against everybody. A run that was passed over only
   * because of them is tried again.
   */
  private async claim(job: NextRun): Promise<ClaimedRun | undefined> {
    for (let tries = 1; ; tries++) {
      while (!this.shares.hasRoomFor(this.claims.size + 1)) await Promise.race(this.claims);
      const passedOver = this.shares.exhausted(this.claims.size);
      const claim = this.claimNow(job, passedOver);
      const settled = claim.then(noop, noop).finally(() => this.claims.delete(settled));
      this.claims.add(settled);
      const run = await claim;
      if (run !== undefined || tries === MAX_CLAIMS || isPart(passedOver, this.shares.exhausted())) return run;
      if (this.claims.size > 0) await Promise.race(this.claims);
    }
  }

  private async claimNow(job: NextRun, passedOver: PassedOver): Promise<ClaimedRun | undefined> {
    const run = await this.execution.claim({ ...job, epoch: newEpoch() }, passedOver);
    if (run !== undefined) this.shares.add(tenantOf(run));
    if (this.shares.isFull || (run === undefined && !isEmpty(passedOver))) this.isContended = true;
    return run;
  }
}

function noop(): void {}

/** Is everybody in the first also in the second? */
function isPart(some: PassedOver, all: PassedOver): boolean {
  return (
    some.organizations.every((id) => all.organizations.includes(id)) &&
    some.holders.every((id) => all.holders.includes(id))
  );
}

function tenantOf({ organizationId, apiKeyId, userId }: ClaimedRun): Tenant {
  return { organizationId, holderId: apiKeyId ?? userId };
}

function isEmpty({ organizations, holders }: PassedOver): boolean {
  return organizations.length === 0 && holders.length === 0;
}
