import { Injectable } from '@nestjs/common';
import { getHeapStatistics } from 'node:v8';
import type { FastifyReply } from 'fastify';
import { DomainError } from '../domain-error.js';
import { type Principal, quotaHolderOf } from '../principal.js';
import { FairShare } from '../sharing/fair-share.js';
import { half, Shares } from '../sharing/shares.js';

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
/** The share of the budget that waiting responses can hold in addition. */
const WAITERS_SHARE = 1 / 4;

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
export type AnswerHolder =
  | (Pick<Principal, 'callerId' | 'keyLimits'> & { readonly organization: Pick<Principal['organization'], 'id'> })
  | undefined;

const NEVER = new AbortController().signal;

/**
 * Limits the memory of all responses in flight in this process. An organization gets at most half of what the others
 * leave: alone it can use half of the budget, and the next organization always finds some of it free. In the same way,
 * a caller gets at most three quarters of what the other callers of its organization leave. Only responses that are not
 * read further meanwhile can wait for memory, and only as many as fit into a quarter of the budget.
 */
@Injectable()
export class AnswerBudget {
  private readonly share: FairShare;
  private readonly largestPart: number;

  /** @param total bytes */
  constructor(total = Math.floor(getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)) {
    this.largestPart = Math.floor(total / LARGEST_PART);
    this.share = new FairShare({
      capacity: total,
      limits: [(left) => left * ORGANIZATION_SHARE, (left) => left * CALLER_SHARE],
      places: new Shares(Math.floor((total * WAITERS_SHARE) / HELD_PER_WAITER), [half]),
      waitMs: WAIT_MS,
      refusal: exhausted,
    });
  }

  /** The bytes that are currently held. */
  get heldBytes(): number {
    return this.share.held;
  }

  /**
   * A response to this caller; it holds no memory yet.
   * @param callerLeft aborts when the caller leaves
   */
  openAnswer(holder: AnswerHolder, callerLeft: AbortSignal = NEVER): HeldAnswer {
    const path = holder === undefined ? ['', ''] : [holder.organization.id, quotaHolderOf(holder)];
    let own = 0;
    let isReleased = false;
    // A request above every share could never be granted, so it counts as a part that leaves room for small responses.
    const claimOf = (bytes: number) => ({ holder: path, units: Math.min(bytes, this.largestPart) });
    return {
      callerLeft,
      reserve: (bytes) => {
        if (isReleased || bytes === 0) return;
        const claim = claimOf(bytes);
        if (!this.share.tryTake(claim)) throw exhausted();
        own += claim.units;
      },
      reserveInTurn: async (bytes) => {
        if (isReleased || bytes === 0) return;
        const claim = claimOf(bytes);
        try {
          await this.share.take(claim, callerLeft);
        } catch (error) {
          throw callerLeft.aborted ? new DomainError('request_abandoned') : error;
        }
        if (isReleased) this.share.giveBack(claim);
        else own += claim.units;
      },
      release: () => {
        isReleased = true;
        if (own > 0) this.share.giveBack({ holder: path, units: own });
        own = 0;
      },
    };
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

/**
 * Ends work whose answer nobody waits for any more.
 * @throws DomainError `request_abandoned`
 */
export function endIfCallerLeft({ callerLeft }: Pick<HeldAnswer, 'callerLeft'>): void {
  if (callerLeft.aborted) throw new DomainError('request_abandoned');
}

/** Responses up to this size are not counted: the socket buffers most of one at once. */
const SMALL_BYTES = 64 * 1024;
/**
 * A reader that reads no byte for this long is disconnected, so that it does not hold its response's memory forever.
 */
export const STALLED_MS = 30_000;
/** The same for a reader that is too slow: 4 MiB in this time are 14 kB/s. */
const SENT_WITHIN_MS = 300_000;

/**
 * Runs the work that produces a complete response. Its memory is released when the response has been sent, its caller
 * has disconnected, or sending takes too long; but never before the work has ended, because the work continues when the
 * caller disconnects.
 */
export async function holdUntilSent<T>(
  answer: HeldAnswer,
  { raw }: FastifyReply,
  work: (answer: HeldAnswer) => Promise<T>,
): Promise<T> {
  try {
    return await work(answer);
  } finally {
    if (raw.destroyed) answer.release();
    else releaseOnceClosed(answer, raw);
  }
}

/**
 * Counts a response that is already complete until it has been sent, its caller has disconnected, or sending takes too
 * long. Call it before `send`.
 * @param length in bytes, or of its text
 * @throws DomainError `answer_memory_exhausted`
 */
export function holdWhileSending(
  budget: AnswerBudget,
  holder: AnswerHolder,
  { raw }: FastifyReply,
  length: number,
): void {
  if (length <= SMALL_BYTES || raw.destroyed) return;
  const answer = budget.openAnswer(holder);
  answer.reserve(length);
  releaseOnceClosed(answer, raw);
}

function releaseOnceClosed(answer: HeldAnswer, raw: FastifyReply['raw']): void {
  // Node destroys a socket whose timeout has no listener, and counts every byte written to the network as activity.
  raw.setTimeout(STALLED_MS);
  const deadline = setTimeout(() => raw.destroy(), SENT_WITHIN_MS);
  raw.once('close', () => {
    clearTimeout(deadline);
    answer.release();
  });
}

/**
 * Disconnects the reader of a stream that takes nothing for 30 s. Nothing happens while there is nothing to take: the
 * source can be silent for longer.
 */
export function disconnectStalledReader(raw: FastifyReply['raw']): void {
  raw.setTimeout(STALLED_MS, () => {
    if ((raw.socket?.writableLength ?? 0) > 0) raw.destroy();
  });
}

/** Does work whose memory is not part of a response: it is released when the work has ended. */
export async function withAnswer<T>(
  budget: AnswerBudget,
  holder: AnswerHolder,
  work: (answer: HeldAnswer) => Promise<T>,
): Promise<T> {
  const answer = budget.openAnswer(holder);
  try {
    return await work(answer);
  } finally {
    answer.release();
  }
}
