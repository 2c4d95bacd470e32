import { getHeapStatistics } from 'node:v8';
import { Injectable } from '@nestjs/common';
import type { UIMessage } from 'ai';
import { LRUCache } from 'lru-cache';
import { HELD_PER_JSON_BYTE } from '../../core/answers/answer-budget.js';
import { unsliceString } from '../../core/ttl-cache.js';
import { type HistoryRow, type NewestRow, withinLimits } from './history-query.js';
import { MESSAGE_OVERHEAD_BYTES } from './message.entity.js';
import {
  conversationOf,
  positionOfRequest,
  type RunAttempt,
  type TranscriptMessage,
  type TranscriptRun,
  TranscriptService,
} from './transcript.service.js';

const MAX_THREADS = 10_000;
/** The share of the heap for all of them, and the part of it for one. */
const SHARE_OF_HEAP = 32;
const LARGEST_PART = 8;
/** How long a conversation is kept, and used from when it was read, however it goes on. */
const KEPT_MS = 10 * 60_000;
/** The copy of a larger answer would hold other runs up. */
const MAX_ANSWER_LENGTH = 128 * 1024;

/** An attempt of a run, and the run that was posted to its thread right before it. */
export interface FollowingRun extends TranscriptRun, RunAttempt {
  readonly previousId: string | null;
}

/** The conversation of a thread up to a run. */
interface KnownHistory {
  readonly run: RunAttempt;
  /** Of the run, as a decimal number. */
  readonly position: string;
  /** When the database was asked for the whole history, by `performance.now()`. */
  readonly readAt: number;
  /** Newest first, with the first that does not fit. */
  readonly rows: readonly HistoryRow[];
  /** The run has ended, and the rows begin with its answer. */
  readonly isOver: boolean;
}

/**
 * The histories of runs. A process that has ended a run knows the conversation up to its answer, so for the next run of
 * the thread it reads the new request only, instead of up to hundreds of messages.
 *
 * What is known is used only for the run that was posted right after the one that this process has ended, and only if
 * the database says that it was this attempt that has ended it, and has the same messages of it. Whatever changes
 * earlier messages posts a run (`run_regenerate`), or takes the last messages of the thread out first
 * (`AnswerSuperseding`); a thread is deleted with its runs. The limits and the request always come from the database.
 */
@Injectable()
export class RecentHistories {
  private readonly known = new LRUCache<string, KnownHistory>(boundsFor(getHeapStatistics().heap_size_limit));

  constructor(private readonly transcript: TranscriptService) {}

  /**
   * The conversation up to and including the request of this run, oldest first. It includes answers of earlier runs,
   * but not the run's own answer. A long conversation is cut to the newest runs that fit the agent's limits, see
   * `HISTORY`.
   * @param maxBytes of JSON text
   */
  async read(run: FollowingRun, maxBytes: number): Promise<TranscriptMessage[]> {
    const { rows, readAt } = (await this.continued(run, maxBytes)) ?? {
      readAt: performance.now(),
      rows: await this.transcript.readHistoryRows(run, maxBytes),
    };
    // A run that answers an earlier question again has a conversation without the last answers.
    if (run.questionPosition === null) this.set(run, { isOver: false, rows: upToFirstUnfit(rows), readAt });
    return conversationOf(run, rows);
  }

  /**
   * Adds the answer with which this process has ended the run.
   * @param length of the answer as it was streamed, in characters
   */
  add(run: FollowingRun, { parts, metadata }: Pick<UIMessage, 'parts' | 'metadata'>, length: number): void {
    const known = this.known.peek(keyOf(run));
    if (known?.run.id !== run.id || known.isOver) return;
    const partsJson = length > MAX_ANSWER_LENGTH ? '' : JSON.stringify(parts);
    // What the run itself has streamed does not count for the length.
    if (partsJson === '' || partsJson.length > MAX_ANSWER_LENGTH) {
      this.known.delete(keyOf(run));
      return;
    }
    const metadataJson = JSON.stringify(metadata);
    const answer: HistoryRow = {
      id: run.messageId,
      role: 'assistant',
      // As the database returns them.
      parts: JSON.parse(partsJson) as UIMessage['parts'],
      metadata: metadataJson.includes('"found_tools"') ? JSON.parse(metadataJson) : null,
      position: known.position,
      asks: false,
      size: MESSAGE_OVERHEAD_BYTES + Buffer.byteLength(partsJson) + Buffer.byteLength(metadataJson),
      fits: true,
    };
    this.set(run, { isOver: true, rows: [answer, ...known.rows], readAt: known.readAt });
  }

  /** What is known with the new request; undefined if that is not the history of the run. */
  private async continued(
    run: FollowingRun,
    maxBytes: number,
  ): Promise<Pick<KnownHistory, 'rows' | 'readAt'> | undefined> {
    const known = this.known.get(keyOf(run));
    if (!known?.isOver || known.run.id !== run.previousId || run.questionPosition !== null) return undefined;
    if (performance.now() - known.readAt > KEPT_MS) return undefined;
    const newest = await this.transcript.readNewestRows(run, known.position, known.run);
    const [limits] = newest;
    const last = newest.filter(({ position }) => position === known.position);
    const request = newest.filter(({ position }) => position !== known.position);
    const position = positionOfRequest(run);
    if (limits === undefined || !areSame(last, known) || request.some((row) => row.position !== position)) {
      return undefined;
    }
    const added = request.map(({ id, role, parts, asks, size }) => {
      return { id: id as string, role, parts, metadata: null, position, asks, size, fits: true };
    });
    const rows = withinLimits([...added, ...known.rows], position, limits, maxBytes);
    // The limits were smaller when they were read.
    return rows.some((row) => row.fits && row.parts === null) ? undefined : { rows, readAt: known.readAt };
  }

  private set(run: FollowingRun, history: Pick<KnownHistory, 'isOver' | 'rows' | 'readAt'>): void {
    const { id, attempt, epoch, position } = run;
    this.known.set(unsliceString(keyOf(run)), { run: { id, attempt, epoch }, position: String(position), ...history });
  }
}

/** Whether the stored messages of the run that was last known are those that were known. */
function areSame(stored: readonly NewestRow[], { rows, position }: KnownHistory): boolean {
  const known = rows.filter((row) => row.position === position);
  return (
    stored.length === known.length &&
    stored.every(({ id, size }, index) => id === known[index]?.id && size === known[index].size)
  );
}

function upToFirstUnfit(newestFirst: readonly HistoryRow[]): readonly HistoryRow[] {
  const first = newestFirst.findIndex(({ fits }) => !fits);
  return first === -1 ? newestFirst : newestFirst.slice(0, first + 1);
}

/** Ids of threads are unique in their organization only. */
function keyOf({ organizationId, threadId }: TranscriptRun): string {
  return `${organizationId} ${threadId}`;
}

function boundsFor(heapBytes: number): LRUCache.OptionsMaxLimit<string, KnownHistory, unknown> {
  const maxSize = Math.floor(heapBytes / SHARE_OF_HEAP);
  return {
    max: MAX_THREADS,
    maxSize,
    maxEntrySize: Math.floor(maxSize / LARGEST_PART),
    sizeCalculation: ({ rows }) => 1 + HELD_PER_JSON_BYTE * rows.reduce((sum, row) => sum + heldOf(row), 0),
    ttl: KEPT_MS,
    // What was deleted in the database leaves the memory, too.
    ttlAutopurge: true,
  };
}

function heldOf({ parts, size }: HistoryRow): number {
  return parts === null ? MESSAGE_OVERHEAD_BYTES : size;
}
