import { DomainError } from './domain-error.js';

const RETRY_AFTER_S = '1';

export interface OrganizationSlotLimits {
  /** How many tasks run at once. */
  readonly slots: number;
  /** How many of them can be those of one organization. */
  readonly perOrganization: number;
  /** How many tasks of one organization can wait; absent: any number. */
  readonly maxWaiting?: number;
  /** How long a task waits, in milliseconds; absent: until its turn. */
  readonly waitMs?: number;
}

interface Waiter {
  readonly organizationId: string;
  readonly start: () => void;
}

/**
 * Slots for expensive tasks. A slot goes to the organization that has the fewest, so that none keeps the others from
 * theirs.
 */
export class OrganizationSlots {
  private readonly taken = new Map<string, number>();
  private total = 0;
  /** In the order of their arrival. */
  private readonly waiters = new Set<Waiter>();

  constructor(private readonly limits: OrganizationSlotLimits) {}

  /**
   * Runs a task when a slot is free. A task that has started keeps its slot until it has ended.
   * @param signal ends the wait
   * @throws DomainError `too_many_requests` if too many tasks of the organization wait already, or this one waited too
   *   long
   * @throws the reason of the signal
   */
  async within<T>(organizationId: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    await this.take(organizationId, signal);
    try {
      return await task();
    } finally {
      this.count(organizationId, -1);
      this.startNext();
    }
  }

  private async take(organizationId: string, signal: AbortSignal | undefined): Promise<void> {
    if (this.hasSlotFor(organizationId)) return this.count(organizationId, 1);
    const { maxWaiting = Infinity, waitMs } = this.limits;
    const waiting = [...this.waiters].filter((waiter) => waiter.organizationId === organizationId).length;
    if (waiting >= maxWaiting) throw refusal();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { organizationId, start: resolve };
    this.waiters.add(waiter);
    const giveUp = (reason: unknown): void => {
      if (this.waiters.delete(waiter)) reject(reason as Error);
    };
    const timer = waitMs === undefined ? undefined : setTimeout(() => giveUp(refusal()), waitMs);
    const onAbort = (): void => giveUp(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  private startNext(): void {
    let next: Waiter | undefined;
    for (const waiter of this.waiters) {
      if (!this.hasSlotFor(waiter.organizationId)) continue;
      if (next === undefined || this.takenBy(waiter.organizationId) < this.takenBy(next.organizationId)) next = waiter;
    }
    if (next === undefined) return;
    this.waiters.delete(next);
    this.count(next.organizationId, 1);
    next.start();
  }

  private hasSlotFor(organizationId: string): boolean {
    const { slots, perOrganization } = this.limits;
    return this.total < slots && this.takenBy(organizationId) < perOrganization;
  }

  private takenBy(organizationId: string): number {
    return this.taken.get(organizationId) ?? 0;
  }

  private count(organizationId: string, change: 1 | -1): void {
    this.total += change;
    const left = this.takenBy(organizationId) + change;
    if (left === 0) this.taken.delete(organizationId);
    else this.taken.set(organizationId, left);
  }
}

function refusal(): DomainError {
  return new DomainError(
    'too_many_requests',
    'Too many expensive queries of the organization are in progress. Retry shortly.',
    [],
    { headers: { 'retry-after': RETRY_AFTER_S } },
  );
}
