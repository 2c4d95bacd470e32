import { Injectable } from '@nestjs/common';
import type { UIMessageChunk } from 'ai';
import type { RunEventPublisher } from '../events/run-event-publisher.js';
import { RunEvents } from '../events/run-events.js';
import type { ClaimedRun } from '../threads/new-run.js';
import { RunExecutionService } from '../threads/run-execution.service.js';
import { TranscriptService } from '../threads/transcript.service.js';
import { chunksOf } from './chunks-of.js';
import { MessageFolder } from './message-folder.js';
import { stepCount } from './pending-tool-calls.js';
import { RunAnswer } from './run-answer.js';

/** Opens the answer of an attempt: a new one, or the one that an earlier attempt has left. */
@Injectable()
export class RunAnswerFactory {
  constructor(
    private readonly events: RunEvents,
    private readonly execution: RunExecutionService,
    private readonly transcript: TranscriptService,
  ) {}

  /**
   * Streams `start` for a first attempt. For a later one it brings readers and the stored answer together: a step that was
   * streamed but not finished is reset, because it will be made again.
   * @param onStale called once when another attempt turns out to hold the stream
   * @throws StaleWriterError
   */
  async open(run: ClaimedRun, onStale: () => void): Promise<RunAnswer> {
    const folder = new MessageFolder();
    const publisher = await this.openPublisher(run, onStale);
    const answer = new RunAnswer(run, folder, publisher, this.execution);
    const streamed = run.attempt === 1 ? [] : await this.events.readFrames(run.id);
    if (streamed.length === 0) {
      await answer.push({ type: 'start', messageId: run.messageId, messageMetadata: { taskId: run.id } });
      if (run.step > 0) await this.streamStored(run, answer);
      return answer;
    }
    for (const frame of streamed) folder.apply(JSON.parse(frame) as UIMessageChunk);
    if (stepCount(folder.parts()) > run.step) await answer.push({ type: 'reset-step' });
    return answer;
  }

  /** Nobody has written the stream of a first attempt, so that it is taken with its first chunk. */
  private async openPublisher(run: ClaimedRun, onStale: () => void): Promise<RunEventPublisher> {
    return run.attempt === 1
      ? this.events.startPublisher(run, run.id, run.attempt, run.previousId, { onStale })
      : this.events.openPublisher(run, run.id, run.attempt, { onStale });
  }

  /** The live buffer has lost what was streamed; the finished steps are streamed again from the transcript. */
  private async streamStored(run: ClaimedRun, answer: RunAnswer): Promise<void> {
    const stored = await this.transcript.findAnswer(run);
    for (const chunk of chunksOf(stored, run.step)) await answer.push(chunk);
  }
}
