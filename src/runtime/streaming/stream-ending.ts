import { Injectable } from '@nestjs/common';
import type { UIMessageChunk } from 'ai';
import { AppConfig } from '../../core/config/app-config.js';
import { databaseNow } from '../../core/database-time.js';
import { RunEvents } from '../events/run-events.js';
import { chunksAfterStep } from '../threads/answer-chunks.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader, type StreamableRun } from '../runs/records/run-reader.js';
import { TranscriptService } from '../threads/transcript.service.js';
import type { RunFrames } from './run-frames.js';
import type { StoredFrames } from './run-stream.js';

/** The stream of a run ends right after the run; after this time, no more frames will come. */
const GRACE_MS = 10_000;
const LOST: UIMessageChunk = {
  type: 'error',
  errorText: 'The live stream of this run was lost; read the transcript.',
};

/**
 * Ends streams that no worker will end: the worker died after the run's end, or the live buffer has lost the stream.
 */
@Injectable()
export class StreamEnding {
  constructor(
    private readonly runs: RunReader,
    private readonly transcript: TranscriptService,
    private readonly events: RunEvents,
    private readonly config: AppConfig,
  ) {}

  /**
   * True if the stream of the run may be still to come, even if the live buffer does not know it: a run that ended
   * before any attempt gets its stream after its end.
   */
  mayBeUnstarted({ status, startedAt, finishedAt }: StreamableRun): boolean {
    // A run that waits has streamed its question, which the live buffer may have lost since.
    if (finishedAt === null) return status !== 'waiting';
    // After the retention, the stream may have come and gone.
    return startedAt === null && isWithin(finishedAt, Math.min(GRACE_MS, this.config.streamRetentionMs));
  }

  /** True once every worker has finished writing this run's stream. */
  async isAbandoned(organizationId: string, runId: string): Promise<boolean> {
    const run = await this.runs.findRun(organizationId, runId);
    if (run === null) return true;
    if (run.finishedAt === null || isWithin(run.finishedAt, GRACE_MS)) return false;
    return !(await this.events.hasEnded(run, runId));
  }

  /**
   * The frames that complete a run for the reader: everything it lacks of the answer, from the transcript. Of a run
   * that waits for approvals, the answer so far. Undefined when the reader has to continue, because the run is in
   * progress or its stream has more frames.
   */
  async complete(organizationId: string, runId: string, frames: RunFrames): Promise<StoredFrames | undefined> {
    const run = await this.runs.findRun(organizationId, runId);
    if (run === null) return { text: frames.takeStored([LOST]), isOver: true };
    if (run.status === 'waiting') return this.pause(run, frames);
    if (run.finishedAt === null) return undefined;
    // The live buffer has the whole answer before the run is over, so its content is final now.
    const { known, diverged, holdsMore } = await this.events.lookAfter(run, runId, frames.position);
    if (known && (diverged || holdsMore)) return undefined;
    if (known && frames.isAnswerClosed) return { text: '', isOver: true };
    return { text: frames.takeStored(await this.chunksFor(run, frames.position.step)), isOver: true };
  }

  /** The next attempt streams the step again, so that the reader gets what follows, too. */
  private async pause(run: RunEntity, frames: RunFrames): Promise<StoredFrames | undefined> {
    const { step } = frames.position;
    const { known, holdsMore } = await this.events.lookAfter(run, run.id, frames.position);
    if (known) return frames.form.endsWhenWaiting && !holdsMore ? { text: '', isOver: true } : undefined;
    const answer = await this.transcript.findAnswer(run);
    const chunks = [...(step === 0 ? [startOf(run)] : []), ...chunksAfterStep(answer?.parts ?? [], step)];
    return { text: frames.takeStored(chunks), isOver: frames.form.endsWhenWaiting };
  }

  private async chunksFor(run: RunEntity, step: number): Promise<UIMessageChunk[]> {
    const answer = await this.transcript.findAnswer(run);
    return [
      ...(step === 0 ? [startOf(run)] : []),
      ...chunksAfterStep(answer?.parts ?? [], step),
      { type: 'message-metadata', messageMetadata: answer?.metadata ?? { taskId: run.id } },
      lastChunkOf(run),
    ];
  }
}

function isWithin(finishedAt: Date, milliseconds: number): boolean {
  return databaseNow() - finishedAt.getTime() <= milliseconds;
}

function startOf(run: RunEntity): UIMessageChunk {
  return { type: 'start', messageId: run.messageId, messageMetadata: { taskId: run.id } };
}

function lastChunkOf({ status, error }: RunEntity): UIMessageChunk {
  if (status === 'completed') return { type: 'finish' };
  if (status === 'cancelled') return { type: 'abort', reason: 'cancelled' };
  return error === null ? LOST : { type: 'error', errorText: error.message };
}
