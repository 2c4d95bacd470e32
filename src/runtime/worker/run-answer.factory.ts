import { Injectable } from '@nestjs/common';
import type { StreamWriter } from '../events/run-event-store.js';
import { RunEvents } from '../events/run-events.js';
import { chunksAfterStep } from '../threads/answer-chunks.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunExecution } from '../runs/records/run-execution.js';
import { TranscriptService } from '../threads/transcript.service.js';
import { MessageFolder } from './message-folder.js';
import { stepCount } from './pending-tool-calls.js';
import { RunAnswer } from './run-answer.js';

/** Opens the answer of an attempt: a new one, or the one that an earlier attempt left. */
@Injectable()
export class RunAnswerFactory {
  constructor(
    private readonly events: RunEvents,
    private readonly execution: RunExecution,
    private readonly transcript: TranscriptService,
  ) {}

  /**
   * Streams `start` for a first attempt. A later attempt aligns the stream with the stored answer: it resets a step
   * that was streamed but not finished, because the step is executed again, and streams parts of finished steps that
   * the live buffer has lost.
   * @param onStale called once when another attempt owns the stream
   * @throws StaleWriterError
   */
  async openAnswer(run: ClaimedRun, onStale: () => void): Promise<RunAnswer> {
    const folder = new MessageFolder();
    // The stream of a first attempt has no writer yet, so its first chunk claims it, without a wait before.
    const publisher =
      run.attempt === 1
        ? this.events.startPublisher(run, run.id, writerOf(run), run.previousId, { onStale })
        : await this.events.openPublisher(run, run.id, writerOf(run), { onStale });
    const answer = new RunAnswer(run, folder, publisher, this.execution);
    const start = { type: 'start', messageId: run.messageId, messageMetadata: { taskId: run.id } } as const;
    if (run.attempt === 1) {
      await answer.append(start);
      return answer;
    }
    const { frames: streamed } = await this.events.readStream(run, run.id);
    if (streamed.length === 0) await answer.restore(start);
    for (const frame of streamed) answer.replay(frame);
    if (stepCount(answer.parts()) > run.step) await answer.restore({ type: 'reset-step' });
    else if (run.step > 0) await this.streamMissing(run, answer);
    return answer;
  }

  /** Ends the stream of a run whose answer cannot be written. */
  async endStream(run: ClaimedRun, errorText: string): Promise<void> {
    const publisher = await this.events.openPublisher(run, run.id, writerOf(run));
    await publisher.push({ type: 'error', errorText });
    await publisher.end();
  }

  /**
   * Streams finished steps that the live buffer lacks. The buffer can have lost the end of the stream or all of it; it
   * can also hold more than is stored.
   */
  private async streamMissing(run: ClaimedRun, answer: RunAnswer): Promise<void> {
    const stored = (await this.transcript.findAnswer(run))?.parts ?? [];
    const streamed = new Set(chunksAfterStep(answer.parts(), 0).map((chunk) => JSON.stringify(chunk)));
    if (chunksAfterStep(stored, 0, run.step).every((chunk) => streamed.has(JSON.stringify(chunk)))) return;
    const step = stepCount(answer.parts());
    if (step > 0) await answer.restore({ type: 'reset-step' });
    for (const chunk of chunksAfterStep(stored, step, run.step)) await answer.restore(chunk);
  }
}

function writerOf({ attempt, epoch }: ClaimedRun): StreamWriter {
  return { fence: attempt, epoch };
}
