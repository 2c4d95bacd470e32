import { Injectable, Logger } from '@nestjs/common';
import type { UIMessageChunk } from 'ai';
import { newEpoch } from '../../core/epochs.js';
import { RunEvents } from '../events/run-events.js';
import type { FinishedRun } from './records/run-ending.js';
import { RunQueue } from './run-queue.js';

/** Ending a run waits only briefly for the event bus. */
const PATIENCE_MS = 1000;

/** Completes the end of runs that ended before any attempt: their streams, and the turn of the next run. */
@Injectable()
export class UnstartedRun {
  private readonly logger = new Logger(UnstartedRun.name);

  constructor(
    private readonly events: RunEvents,
    private readonly queue: RunQueue,
  ) {}

  /**
   * Readers can already wait for the run, so its stream gets a beginning and an end.
   * @param metadata for the message, which says how it ended
   * @param last the chunk that ends the stream
   */
  async conclude(
    { run, hasNext }: FinishedRun,
    metadata: Record<string, unknown>,
    last: UIMessageChunk,
  ): Promise<void> {
    const start: UIMessageChunk = {
      type: 'start',
      messageId: run.messageId,
      messageMetadata: { taskId: run.id, ...metadata },
    };
    // Without a stream, its readers find the end in the run's record.
    await this.stream(run, [start, last]).catch((error: Error) =>
      this.logger.warn({ run_id: run.id, err: error }, 'Could not end the stream of a run that never started'),
    );
    if (hasNext) await this.queue.wakeWorker();
  }

  private async stream(run: FinishedRun['run'], chunks: readonly UIMessageChunk[]): Promise<void> {
    const options = { giveUpAfterMs: PATIENCE_MS };
    const writer = { fence: run.attempt, epoch: newEpoch() };
    const publisher = await this.events.openPublisher(run, run.id, writer, options);
    for (const chunk of chunks) await publisher.push(chunk);
    await publisher.end();
  }
}
