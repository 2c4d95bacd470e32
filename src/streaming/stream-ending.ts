import { Injectable } from '@nestjs/common';
import type { UIMessageChunk } from 'ai';
import { RunEvents } from '../events/run-events.js';
import { chunksAfterStep } from '../threads/answer-chunks.js';
import type { RunEntity } from '../runs/records/run.entity.js';
import { RunReader } from '../runs/records/run-reader.js';
import { TranscriptService } from '../threads/transcript.service.js';
import type { RunFrames } from './run-frames.js';

/** A worker ends the stream right after the run; after this time, no more frames will come. */
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
  ) {}

  /** Has every worker finished writing this run's stream? */
  async isAbandoned(organizationId: string, runId: string): Promise<boolean> {
    const run = await this.runs.findRun(organizationId, runId);
    if (run === null) return true;
    if (run.finishedAt === null || Date.now() - run.finishedAt.getTime() <= GRACE_MS) return false;
    return !(await this.events.hasEnded(run, runId));
  }

  /**
   * The frames that complete a run for the reader: everything it lacks of the answer, from the transcript. Undefined
   * when the reader has to continue, because the run is not over or its stream has more frames.
   */
  async complete(organizationId: string, runId: string, frames: RunFrames): Promise<string | undefined> {
    const run = await this.runs.findRun(organizationId, runId);
    if (run === null) return frames.takeStored([LOST]);
    if (run.finishedAt === null) return undefined;
    // The live buffer has the whole answer before the run is over, so its content is final now.
    const { known, diverged, holdsMore } = await this.events.lookAfter(run, runId, frames.position);
    if (known && (diverged || holdsMore)) return undefined;
    if (known && frames.isAnswerClosed) return '';
    return frames.takeStored(await this.chunksFor(run, frames.position.step));
  }

  private async chunksFor(run: RunEntity, step: number): Promise<UIMessageChunk[]> {
    const answer = await this.transcript.findAnswer(run);
    const start: UIMessageChunk = { type: 'start', messageId: run.messageId, messageMetadata: { taskId: run.id } };
    return [
      ...(step === 0 ? [start] : []),
      ...chunksAfterStep(answer?.parts ?? [], step),
      { type: 'message-metadata', messageMetadata: answer?.metadata ?? { taskId: run.id } },
      lastChunkOf(run),
    ];
  }
}

function lastChunkOf({ status, error }: RunEntity): UIMessageChunk {
  if (status === 'completed') return { type: 'finish' };
  if (status === 'cancelled') return { type: 'abort', reason: 'cancelled' };
  return error === null ? LOST : { type: 'error', errorText: error.message };
}
