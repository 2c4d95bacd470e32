import { DomainError } from '../common/domain-error.js';

/** A writer was overtaken: another attempt holds the run's stream, or the stream is gone. It must stop. */
export class StaleWriterError extends Error {
  override readonly name = 'StaleWriterError';

  constructor(readonly runId: string) {
    super(`The stream of run ${runId} is no longer held by this writer`);
  }
}

/** The frames of a run are no longer kept. The transcript is what remains. */
export class StreamExpiredError extends DomainError {
  override readonly name = 'StreamExpiredError';

  constructor(readonly runId: string) {
    super('stream_expired');
  }
}

/** A reader has frames that the store has lost: what is stored at and after its position is not what came after them. */
export class StreamDivergedError extends Error {
  override readonly name = 'StreamDivergedError';

  constructor(readonly runId: string) {
    super(`The stream of run ${runId} is not the one that its reader has begun to read`);
  }
}

/** The process is shutting down; repeating the call is of no use. */
export class EventStoreClosedError extends Error {
  override readonly name = 'EventStoreClosedError';

  constructor() {
    super('The run event store is closed');
  }
}

/** Can repeating a call of the event store mend this error? */
export function isRetryable(error: unknown): boolean {
  return !(error instanceof StaleWriterError) && !(error instanceof EventStoreClosedError);
}
