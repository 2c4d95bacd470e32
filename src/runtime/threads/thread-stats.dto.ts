import { IsBoolean, IsInt, IsISO8601, IsObject, IsString } from 'class-validator';
import { Nested, NestedList } from '../../core/validation/nested.js';
import { MayBeAbsent } from '../../core/validation/presence.js';

export class ThreadStatsInput {
  /** ISO 8601 with an offset. Default: 24 hours before `to`. */
  @MayBeAbsent()
  @IsString()
  from?: string;

  /** ISO 8601 with an offset, exclusive. Default: now. */
  @MayBeAbsent()
  @IsString()
  to?: string;

  /** Counts only the threads that this `where` of COLLECTION_THREADS_LIST selects. */
  @MayBeAbsent()
  @IsObject()
  where?: Record<string, unknown>;
}

class ThreadCounts {
  /** The sum of the statuses. */
  @IsInt()
  threads: number;

  @IsInt()
  in_progress: number;

  @IsInt()
  completed: number;

  @IsInt()
  failed: number;
}

class ThreadCountsAt extends ThreadCounts {
  /** Start of the bucket, which is `bucket_seconds` long. */
  @IsISO8601()
  at: string;
}

class FailedThreads {
  @IsString()
  code: string;

  @IsInt()
  threads: number;
}

export class ThreadStats {
  @IsISO8601()
  from: string;

  @IsISO8601()
  to: string;

  @IsInt()
  bucket_seconds: number;

  @Nested(() => ThreadCounts)
  total: ThreadCounts;

  /** Oldest first. Buckets without threads are omitted. */
  @NestedList(() => ThreadCountsAt)
  over_time: ThreadCountsAt[];

  /**
   * The threads with a failed run by the code of its error, the most frequent first. A thread with runs that failed
   * with several codes counts for each.
   */
  @NestedList(() => FailedThreads)
  failures: FailedThreads[];

  /** Whether failures were omitted. */
  @IsBoolean()
  truncated: boolean;
}
