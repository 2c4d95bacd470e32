import { Injectable } from '@nestjs/common';
import type { UIMessageChunk } from 'ai';
import type { RunEventPublisher } from '../events/run-event-publisher.js';
import { RunEvents } from '../events/run-events.js';
import type { RunEntity } from '../threads/run.entity.js';
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
   */
  async open(run: RunEntity, publisher: RunEventPublisher, model: string): Promise<RunAnswer> {
    const folder = new MessageFolder();
    const answer = new RunAnswer(run, folder, publisher, this.execution, model);
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

  /** The live buffer has lost what was streamed; the finished steps are streamed again from the transcript. */
  private async streamStored(run: RunEntity, answer: RunAnswer): Promise<void> {
    const stored = await this.transcript.findAnswer(run);
    for (const chunk of chunksOf(stored, run.step)) await answer.push(chunk);
  }
}
