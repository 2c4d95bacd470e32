import { Injectable } from '@nestjs/common';
import type { RunEventPublisher } from '../events/run-event-publisher.js';
import type { StreamWriter } from '../events/run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import { chunksAfterStep } from '../threads/answer-chunks.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunExecution } from '../runs/records/run-execution.js';
import { TranscriptService } from '../threads/transcript.service.js';
import { MessageFolder } from './message-folder.js';
import { stepCount } from './pending-tool-calls.js';
import { RunAnswer } from './run-answer.js';

/** Opens the answer of an attempt: a new one, or the one that an earlier attempt has left. */
@Injectable()
export class RunAnswerFactory {
  constructor(
    private readonly events: RunEvents,
    private readonly execution: RunExecution,
    private readonly transcript: TranscriptService,
  ) {}

  /**
   * Streams `start` for a first attempt. For a later one it brings readers and the stored answer together: a step that was
   * streamed but not finished is reset, because it will be made again, and what the live buffer has lost of the finished steps is
   * streamed again.
   * @param onStale called once when another attempt turns out to hold the stream
   * @throws StaleWriterError
   */
  async open(run: ClaimedRun, onStale: () => void): Promise<RunAnswer> {
    const folder = new MessageFolder();
    const publisher = await this.openPublisher(run, onStale);
    const answer = new RunAnswer(run, folder, publisher, this.execution);
    const streamed = run.attempt === 1 ? [] : await this.events.readFrames(run.id);
    if (streamed.length === 0) {
      await answer.append({ type: 'start', messageId: run.messageId, messageMetadata: { taskId: run.id } });
    }
    for (const frame of streamed) answer.replay(frame);
    if (stepCount(answer.parts()) > run.step) await answer.append({ type: 'reset-step' });
    else if (run.step > 0) await this.streamMissing(run, answer);
    return answer;
  }

  /** Ends the stream of a run that failed without its answer. */
  async endStream(run: ClaimedRun, errorText: string): Promise<void> {
    const publisher = await this.events.openPublisher(run, run.id, writerOf(run));
    await publisher.push({ type: 'error', errorText });
    await publisher.end();
  }

  /** Nobody has written the stream of a first attempt, so that it is taken with its first chunk. */
  private async openPublisher(run: ClaimedRun, onStale: () => void): Promise<RunEventPublisher> {
    return run.attempt === 1
      ? this.events.startPublisher(run, run.id, writerOf(run), run.previousId, { onStale })
      : this.events.openPublisher(run, run.id, writerOf(run), { onStale });
  }

  /** The live buffer can have lost the end of what was streamed, or all of it. It can also have more than is stored. */
  private async streamMissing(run: ClaimedRun, answer: RunAnswer): Promise<void> {
    const stored = (await this.transcript.findAnswer(run))?.parts ?? [];
    const streamed = new Set(chunksAfterStep(answer.parts(), 0).map((chunk) => JSON.stringify(chunk)));
    if (chunksAfterStep(stored, 0, run.step).every((chunk) => streamed.has(JSON.stringify(chunk)))) return;
    const step = stepCount(answer.parts());
    if (step > 0) await answer.append({ type: 'reset-step' });
    for (const chunk of chunksAfterStep(stored, step, run.step)) await answer.append(chunk);
  }
}

function writerOf({ attempt, epoch }: ClaimedRun): StreamWriter {
  return { fence: attempt, epoch };
}
