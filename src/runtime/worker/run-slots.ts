import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { type PassedOver, RunTurns, type Tenant } from '../runs/records/run-turns.js';
import { heartbeatTimes, WorkerLock } from './worker-liveness.js';

/** A process with fewer slots reserves none: tenants would notice the difference. */
const RESERVE_FROM = 4;
const RESERVED_PART = 20;

/**
 * Tracks the occupied slots of a process and keeps some free for newcomers. An organization cannot take the last
 * twentieth (at least one slot), and within an organization an API key, or a user without one, leaves as many again to
 * the others.
 */
export class SlotShares {
  private readonly organizations = new Map<string, number>();
  private readonly holders = new Map<string, number>();
  private readonly organizationLimit: number;
  private readonly holderLimit: number;
  private taken = 0;

  constructor(private readonly capacity: number) {
    const reserve = capacity < RESERVE_FROM ? 0 : Math.ceil(capacity / RESERVED_PART);
    this.organizationLimit = capacity - reserve;
    this.holderLimit = capacity - 2 * reserve;
  }

  get isFull(): boolean {
    return this.taken >= this.capacity;
  }

  add({ organizationId, holderId }: Tenant): void {
    this.taken += 1;
    count(this.organizations, organizationId, 1);
    count(this.holders, holderId, 1);
  }

  remove({ organizationId, holderId }: Tenant): void {
    this.taken -= 1;
    count(this.organizations, organizationId, -1);
    count(this.holders, holderId, -1);
  }

  /**
   * Returns the tenants that cannot take another slot.
   * @param claims the number of claims in progress, each of which can be for a run of any tenant
   */
  exhausted(claims = 0): PassedOver {
    if (this.organizationLimit === this.capacity) return { organizations: [], holders: [] };
    return {
      organizations: keysAt(this.organizations, this.organizationLimit - claims),
      holders: keysAt(this.holders, this.holderLimit - claims),
    };
  }

  /** True if another tenant might wait because of this one. */
  isShort({ organizationId }: Tenant): boolean {
    return this.isFull || (this.organizations.get(organizationId) ?? 0) >= this.organizationLimit;
  }
}

function count(counts: Map<string, number>, key: string, by: number): void {
  const sum = (counts.get(key) ?? 0) + by;
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}

function keysAt(counts: ReadonlyMap<string, number>, limit: number): string[] {
  return [...counts].filter(([, runs]) => runs >= limit).map(([key]) => key);
}

/** How long the result "no tenant is owed a slot" stays valid. */
const RECHECK_MS = 100;
/** How often other workers can be faster with the run that a search has found. */
const MAX_TRIES = 10;

type Claim = Promise<ClaimedRun | undefined>;

/**
 * The shares of this process's slots, and the claims of runs for them. The database decides which run is next, so
 * neither the order nor the number of the wake-ups matters.
 */
@Injectable()
export class RunSlots {
  private readonly logger = new Logger(RunSlots.name);
  private readonly shares: SlotShares;
  private readonly silentMs: number;
  /** The epochs of the attempts that use or may use a slot. */
  private readonly epochs = new Set<string>();
  private hasWaiting = false;
  private isClaiming = false;
  private nextYieldCheckAt = 0;
  /** Never rejects. */
  private lastClaim: Promise<unknown> = Promise.resolve();

  constructor(
    config: AppConfig,
    private readonly turns: RunTurns,
    private readonly lock: WorkerLock,
  ) {
    this.shares = new SlotShares(config.settings.runConcurrency);
    this.silentMs = heartbeatTimes(config.settings.runLockMs).silentMs;
  }

  /** True if runs may wait whose wake-ups are already consumed. */
  get isContended(): boolean {
    return this.hasWaiting;
  }

  /** Claims the run whose turn it is, for a free slot; undefined if none waits, or none that can run here now. */
  claimNextRun(): Claim {
    return this.inTurn(() => this.claim());
  }

  /** The same for a slot that has become free. Makes no query unless runs may wait. */
  claimWaitingRun(): Claim {
    return this.inTurn(async () => (this.hasWaiting ? this.claim() : undefined));
  }

  /**
   * Takes a slot for a run of the tenant that is about to start; undefined unless the tenant can have one now. Returns
   * the epoch with which the run starts.
   */
  reserve(tenant: Tenant): string | undefined {
    if (this.hasWaiting) return undefined;
    // The claim in progress can be for a run of any tenant.
    const { organizations, holders } = this.shares.exhausted(this.isClaiming ? 1 : 0);
    if (organizations.includes(tenant.organizationId) || holders.includes(tenant.holderId)) return undefined;
    const epoch = this.lock.newEpoch();
    this.occupy(tenant, epoch);
    return epoch;
  }

  /** Gives a reserved slot back. */
  release(tenant: Tenant, epoch: string): void {
    this.shares.remove(tenant);
    this.epochs.delete(epoch);
  }

  /** Releases the slot of this run. Its end may let another run of its organization start. */
  free(run: ClaimedRun): void {
    this.release(tenantOf(run), run.epoch);
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
   * One claim at a time: several at once would find the same run, and all but one of them would miss it. A claim begins
   * after those before it, so it finds every run that waits when it is asked for.
   */
  private inTurn(claim: () => Claim): Claim {
    const claimed = this.lastClaim.then(claim);
    this.lastClaim = claimed.catch(() => undefined);
    return claimed;
  }

  private async claim(): Claim {
    this.isClaiming = true;
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const epoch = this.lock.newEpoch();
        const search = await this.turns.claimNextRun(epoch, [...this.epochs], this.silentMs, this.shares.exhausted());
        if ('run' in search) {
          const { id: run_id, attempt } = search.run;
          if (search.outcome === 'taken_over')
            this.logger.warn({ run_id, attempt: attempt - 1 }, 'The worker of a run stopped sending heartbeats');
          this.occupy(tenantOf(search.run), epoch);
          return search.run;
        }
        this.hasWaiting = search.outcome !== 'none';
        if (search.outcome !== 'missed') return undefined;
      }
      return undefined;
    } finally {
      this.isClaiming = false;
    }
  }

  private occupy(tenant: Tenant, epoch: string): void {
    this.shares.add(tenant);
    this.epochs.add(epoch);
    if (this.shares.isFull) this.hasWaiting = true;
  }
}

function tenantOf({ organizationId, holderId }: ClaimedRun): Tenant {
  return { organizationId, holderId };
}
