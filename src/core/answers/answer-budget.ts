import { Injectable } from '@nestjs/common';
import { getHeapStatistics } from 'node:v8';
import { DomainError } from '../domain-error.js';
import { type Principal, quotaHolderOf } from '../principal.js';

/** The share of the heap for responses in flight; the rest is for runs, caches and ordinary calls. */
const SHARE_OF_HEAP = 8;
/** The largest part of the budget for one reservation. */
const LARGEST_PART = 4;
/** The shares, of what others leave, for an organization and for a caller in it. */
const ORGANIZATION_SHARE = 1 / 2;
const CALLER_SHARE = 3 / 4;
const RETRY_AFTER_SECONDS = '1';
/** How long a large response waits for others to be sent. */
const WAIT_MS = 10_000;
/** A response that waits still holds what was read of it, and what the sockets buffer. */
const HELD_PER_WAITER = 128 * 1024;
/** The share of the budget that waiting responses can hold in addition, and an organization's share of that. */
const WAITERS_SHARE = 1 / 4;
const WAITERS_OF_ORGANIZATION = 1 / 2;

/** The memory of one response, from before its data is read until it has been sent. */
export interface HeldAnswer {
  /** Aborts when the caller leaves: nobody needs what is still being read. Long reads end with it. */
  readonly callerLeft: AbortSignal;
  /**
   * Reserves memory for data that is about to be read. A response whose reservation fails keeps what it has.
   * @param bytes of memory, not of JSON text: see `HELD_PER_JSON_BYTE`
   * @throws DomainError `answer_memory_exhausted`
   */
  reserve(bytes: number): void;
  /**
   * Does the same, but waits in order, for at most 10 s. For responses that are not read further while they wait.
   * @throws DomainError `answer_memory_exhausted` after that time, or at once if too many responses wait already;
   * `request_abandoned` when the caller leaves
   */
  reserveInTurn(bytes: number): Promise<void>;
  /** Releases all memory. Later calls of either method do nothing. */
  release(): void;
}

/** The memory that a byte of JSON text usually takes while it is read, parsed, serialized and sent. */
export const HELD_PER_JSON_BYTE = 8;

/** The holder of a response; all callers without a credential share one. */
export type AnswerHolder = Pick<Principal, 'organization' | 'callerId' | 'keyLimits'> | undefined;

const NEVER = new AbortController().signal;

/** The bytes held by the responses of an organization. */
class Account {
  held = 0;
  readonly byCaller = new Map<string, number>();
}

/** A response that waits for memory. */
interface Waiter {
  readonly organizationId: string;
  readonly callerId: string;
  readonly bytes: number;
  readonly resolve: (granted: number) => void;
}

/**
 * Limits the memory of all responses in flight in this process. An organization gets at most half of what the others
 * leave: alone it can use half of the budget, and the next organization always finds some of it free. In the same way,
 * a caller gets at most three quarters of what the other callers of its organization leave. Only responses that are not
 * read further meanwhile can wait for memory, and only as many as fit into a quarter of the budget.
 */
@Injectable()
export class AnswerBudget {
  private readonly accounts = new Map<string, Account>();
  /** In the order in which they came. */
  private readonly waiters = new Set<Waiter>();
  private held = 0;
  private readonly maxWaiters: number;

  /** @param total bytes */
  constructor(private readonly total = Math.floor(getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)) {
    this.maxWaiters = Math.floor((total * WAITERS_SHARE) / HELD_PER_WAITER);
  }

  /** The bytes that are currently held. */
  get heldBytes(): number {
    return this.held;
  }

  /**
   * A response to this caller; it holds no memory yet.
   * @param callerLeft aborts when the caller leaves
   */
  openAnswer(holder: AnswerHolder, callerLeft: AbortSignal = NEVER): HeldAnswer {
    const organizationId = holder?.organization.id ?? '';
    const callerId = holder === undefined ? '' : quotaHolderOf(holder);
    let own = 0;
    let isReleased = false;
    return {
      callerLeft,
      reserve: (bytes) => {
        if (!isReleased) own += this.take(organizationId, callerId, bytes);
      },
      reserveInTurn: async (bytes) => {
        if (isReleased || bytes === 0) return;
        const granted = await this.takeInTurn(organizationId, callerId, bytes, callerLeft);
        if (isReleased) this.give(organizationId, callerId, granted);
        else own += granted;
      },
      release: () => {
        isReleased = true;
        if (own > 0) this.give(organizationId, callerId, own);
        own = 0;
      },
    };
  }

  private async takeInTurn(
    organizationId: string,
    callerId: string,
    bytes: number,
    callerLeft: AbortSignal,
  ): Promise<number> {
    if (callerLeft.aborted) throw new DomainError('request_abandoned');
    const waiting = [...this.waiters].filter((waiter) => waiter.organizationId === organizationId);
    if (!waiting.some((waiter) => waiter.callerId === callerId)) {
      const granted = this.tryTake(organizationId, callerId, bytes);
      if (granted !== undefined) return granted;
    }
    const isFull = this.waiters.size >= this.maxWaiters || waiting.length >= this.maxWaiters * WAITERS_OF_ORGANIZATION;
    if (isFull) throw exhausted();
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const waiter = { organizationId, callerId, bytes, resolve };
    this.waiters.add(waiter);
    const timer = setTimeout(() => reject(exhausted()), WAIT_MS);
    const onLeft = (): void => reject(new DomainError('request_abandoned'));
    callerLeft.addEventListener('abort', onLeft, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      callerLeft.removeEventListener('abort', onLeft);
      this.waiters.delete(waiter);
    }
  }

  /**
   * Grants what has become free: in order for each caller, while those of other callers pass a caller that has to wait.
   */
  private serveWaiters(): void {
    const blocked = new Set<string>();
    for (const waiter of this.waiters) {
      const key = `${waiter.organizationId} ${waiter.callerId}`;
      if (blocked.has(key)) continue;
      const granted = this.tryTake(waiter.organizationId, waiter.callerId, waiter.bytes);
      if (granted === undefined) {
        blocked.add(key);
        continue;
      }
      this.waiters.delete(waiter);
      waiter.resolve(granted);
    }
  }

  private take(organizationId: string, callerId: string, bytes: number): number {
    const granted = this.tryTake(organizationId, callerId, bytes);
    if (granted === undefined) throw exhausted();
    return granted;
  }

  /** Returns what is charged; undefined if it exceeds a share. */
  private tryTake(organizationId: string, callerId: string, bytes: number): number | undefined {
    if (bytes === 0) return 0;
    const account = this.accounts.get(organizationId) ?? new Account();
    const ofCaller = account.byCaller.get(callerId) ?? 0;
    // A request above every share could never be granted, so it counts as a part that leaves room for small responses.
    const charged = Math.min(bytes, Math.floor(this.total / LARGEST_PART));
    const toOrganization = (this.total - (this.held - account.held)) * ORGANIZATION_SHARE;
    const toCaller = (toOrganization - (account.held - ofCaller)) * CALLER_SHARE;
    if (ofCaller + charged > toCaller) return undefined;
    this.accounts.set(organizationId, account);
    account.byCaller.set(callerId, ofCaller + charged);
    account.held += charged;
    this.held += charged;
    return charged;
  }

  private give(organizationId: string, callerId: string, bytes: number): void {
    this.held -= bytes;
    const account = this.accounts.get(organizationId);
    if (account === undefined) return;
    account.held -= bytes;
    const left = (account.byCaller.get(callerId) ?? 0) - bytes;
    if (left > 0) account.byCaller.set(callerId, left);
    else account.byCaller.delete(callerId);
    if (account.byCaller.size === 0) this.accounts.delete(organizationId);
    if (this.waiters.size > 0) this.serveWaiters();
  }
}

function exhausted(): DomainError {
  return new DomainError(
    'answer_memory_exhausted',
    'Responses in flight use too much memory. Finish reading them, request smaller pages, or retry shortly.',
    [],
    { headers: { 'retry-after': RETRY_AFTER_SECONDS } },
  );
}
