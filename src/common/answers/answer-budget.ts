import { Injectable } from '@nestjs/common';
import { getHeapStatistics } from 'node:v8';
import { DomainError } from '../domain-error.js';
import type { Principal } from '../principal.js';

/** The share of the heap that answers in flight may hold; the rest belongs to runs, caches and ordinary calls. */
const SHARE_OF_HEAP = 8;
/** The part of the budget that one reservation takes at most. */
const LARGEST_PART = 4;
/** Of what others leave: to an organization, and to a caller in it. */
const ORGANIZATION_SHARE = 1 / 2;
const CALLER_SHARE = 3 / 4;
const RETRY_AFTER_SECONDS = '1';

/** The memory that one answer holds, from before its data is read until it has been sent. */
export interface HeldAnswer {
  /**
   * Takes memory for data that is about to be read. An answer that fails to get more keeps what it has.
   * @param bytes of memory, not of JSON text: see `HELD_PER_JSON_BYTE`
   * @throws DomainError `answer_memory_exhausted`
   */
  reserve(bytes: number): void;
  /** Gives everything back. Later calls of either method do nothing. */
  release(): void;
}

/** The memory that a byte of JSON text usually takes while it is read, parsed, serialized and sent. */
export const HELD_PER_JSON_BYTE = 8;

/** Whose an answer is; without a credential, one holder for all. */
export type AnswerHolder = Pick<Principal, 'organization' | 'apiKeyId'> | undefined;

/** What the answers of an organization hold, in bytes. */
class Account {
  held = 0;
  readonly byCaller = new Map<string, number>();
}

/**
 * Bounds what all answers in flight of this process hold together. An organization is granted at most half of what the others
 * leave: one alone reaches half of the budget, and whoever comes next always finds some of it free. In the same way a caller is
 * granted at most three quarters of what the other callers of its organization leave to it. Nobody waits for memory, because an
 * answer that waits holds memory too.
 */
@Injectable()
export class AnswerBudget {
  private readonly accounts = new Map<string, Account>();
  private held = 0;

  /** @param total bytes */
  constructor(private readonly total = Math.floor(getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)) {}

  /** What is held now, in bytes. */
  get heldBytes(): number {
    return this.held;
  }

  /** An answer to this caller; it holds nothing yet. */
  open(holder: AnswerHolder): HeldAnswer {
    const organizationId = holder?.organization.id ?? '';
    const callerId = holder?.apiKeyId ?? '';
    let own = 0;
    let isReleased = false;
    return {
      reserve: (bytes) => {
        if (!isReleased) own += this.take(organizationId, callerId, bytes);
      },
      release: () => {
        isReleased = true;
        if (own > 0) this.give(organizationId, callerId, own);
        own = 0;
      },
    };
  }

  private take(organizationId: string, callerId: string, bytes: number): number {
    if (bytes === 0) return 0;
    const account = this.accounts.get(organizationId) ?? new Account();
    const ofCaller = account.byCaller.get(callerId) ?? 0;
    // What exceeds every share could never be granted, so it counts as a part that leaves room for small answers.
    const charged = Math.min(bytes, Math.floor(this.total / LARGEST_PART));
    const toOrganization = (this.total - (this.held - account.held)) * ORGANIZATION_SHARE;
    const toCaller = (toOrganization - (account.held - ofCaller)) * CALLER_SHARE;
    if (ofCaller + charged > toCaller) throw exhausted();
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
  }
}

function exhausted(): DomainError {
  return new DomainError(
    'answer_memory_exhausted',
    'Answers that are being sent hold too much memory. Read them, ask for smaller pages, or try again shortly.',
    [],
    { headers: { 'retry-after': RETRY_AFTER_SECONDS } },
  );
}
