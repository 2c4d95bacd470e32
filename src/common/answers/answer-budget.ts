import { Injectable } from '@nestjs/common';
import { getHeapStatistics } from 'node:v8';
import { DomainError } from '../domain-error.js';

/** The share of the heap that answers in flight may hold; the rest belongs to runs, caches and ordinary calls. */
const SHARE_OF_HEAP = 8;
/** The part of the budget that one reservation takes at most. */
const LARGEST_PART = 4;
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

/**
 * Bounds what all answers in flight of this process hold together. An organization is granted at most half of what the others
 * leave: one alone reaches half of the budget, and whoever comes next always finds some of it free. Nobody waits for memory,
 * because an answer that waits holds memory too.
 */
@Injectable()
export class AnswerBudget {
  private readonly heldBy = new Map<string, number>();
  private held = 0;

  /** @param total bytes */
  constructor(private readonly total = Math.floor(getHeapStatistics().heap_size_limit / SHARE_OF_HEAP)) {}

  /** What is held now, in bytes. */
  get heldBytes(): number {
    return this.held;
  }

  /** An answer to a caller of this organization; it holds nothing yet. */
  open(organizationId: string): HeldAnswer {
    let own = 0;
    let isReleased = false;
    return {
      reserve: (bytes) => {
        if (isReleased) return;
        own += this.take(organizationId, bytes);
      },
      release: () => {
        isReleased = true;
        this.give(organizationId, own);
        own = 0;
      },
    };
  }

  private take(organizationId: string, bytes: number): number {
    const ofOrganization = this.heldBy.get(organizationId) ?? 0;
    const leftByOthers = this.total - (this.held - ofOrganization);
    // What exceeds every share could never be granted, so it counts as a part that leaves room for small answers.
    const charged = Math.min(bytes, Math.floor(this.total / LARGEST_PART));
    if (2 * (ofOrganization + charged) > leftByOthers) throw exhausted();
    this.held += charged;
    this.heldBy.set(organizationId, ofOrganization + charged);
    return charged;
  }

  private give(organizationId: string, bytes: number): void {
    const left = (this.heldBy.get(organizationId) ?? 0) - bytes;
    this.held -= bytes;
    if (left > 0) this.heldBy.set(organizationId, left);
    else this.heldBy.delete(organizationId);
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
