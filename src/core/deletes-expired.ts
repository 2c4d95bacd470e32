import { SetMetadata } from '@nestjs/common';

/** The pause between two deletions, in milliseconds. */
type Pause = (settings: { readonly retentionDayMs: number; readonly streamRetentionMs: number }) => number;

/** What a provider deletes in the background. */
export interface ExpiredRowsDefinition {
  /** In the plural, as the log names them. */
  readonly rows: string;
  readonly pauseMs: Pause;
}

/** Deletes one batch of what has expired at `now`, and returns the number of deleted rows. */
export type DeleteBatch = (now: Date) => Promise<number>;

export const DELETES_EXPIRED = 'signalbox:deletes-expired';

/** A batch with fewer rows ends a turn, so no method deletes fewer at a time while more have expired. */
export const SMALLEST_FULL_BATCH = 20;

const LONGEST_PAUSE_MS = 600_000;
const SHORTEST_PAUSE_MS = 100;

/** Ten minutes; less where a test shortens the days of the retention. */
const TEN_MINUTES: Pause = ({ retentionDayMs }) =>
  Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, retentionDayMs / 10));

/**
 * Makes a provider's method, a `DeleteBatch`, delete rows whose time has ended. The service calls it periodically, each
 * time until a batch has fewer than `SMALLEST_FULL_BATCH` rows. All processes do so at once, so the statement skips
 * rows that another one has locked (`deleteBatch`).
 */
export function DeletesExpired(rows: string, pauseMs: Pause = TEN_MINUTES): MethodDecorator {
  const definition: ExpiredRowsDefinition = { rows, pauseMs };
  return SetMetadata(DELETES_EXPIRED, definition);
}
