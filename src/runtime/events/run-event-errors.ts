import { DomainError } from '../../core/domain-error.js';

/** The writer must stop: another attempt holds the run's stream, or the stream no longer exists. */
export class StaleWriterError extends Error {
  override readonly name = 'StaleWriterError';

  constructor(readonly runId: string) {
    super(`This writer no longer holds the stream of run ${runId}`);
  }
}

/** The frames of a run have expired. Its messages remain in the transcript. */
export class StreamExpiredError extends DomainError {
  override readonly name = 'StreamExpiredError';

  constructor(readonly runId: string) {
    super('stream_expired');
  }
}

/** The reader has frames that the store has lost, so the stored frames do not continue the reader's position. */
export class StreamDivergedError extends Error {
  override readonly name = 'StreamDivergedError';

  constructor(readonly runId: string) {
    super(`The stream of run ${runId} does not contain the frames that the reader has already received`);
  }
}

/** The process is shutting down. Do not retry the call. */
export class EventStoreClosedError extends Error {
  override readonly name = 'EventStoreClosedError';

  constructor() {
    super('The run event store is closed');
  }
}

/** True if repeating the call of the event store can succeed. */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof StaleWriterError) && !(error instanceof EventStoreClosedError);
}

/** The loggable part of a driver's error: its code or name. Messages could contain parts of a connection string. */
export function errorName(error: unknown): string {
  if (error instanceof Error) {
    return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  }
  return 'unknown error';
}
