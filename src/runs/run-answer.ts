import type { LanguageModelUsage, UIMessage, UIMessageChunk } from 'ai';
import { throughOutage } from '../common/through-outage.js';
import type { RunEventPublisher } from '../events/run-event-publisher.js';
import type { RunUsage, RunEntity } from '../threads/run.entity.js';
import type { RunExecutionService } from '../threads/run-execution.service.js';
import type { MessageFolder } from './message-folder.js';
import { type PendingToolCall, pendingToolCalls, stepCount } from './pending-tool-calls.js';

/** How often an answer in progress is stored between its steps, so that the transcript shows its parts so far. */
const SAVE_EVERY_MS = 1000;

/**
 * The answer of one attempt while it grows. Every chunk goes to the live stream and into the message; what is stored is
 * always a part of what was streamed before, so that a later attempt can go on from either.
 */
export class RunAnswer {
  private timer: NodeJS.Timeout | undefined;
  private saving: Promise<unknown> = Promise.resolve();
  private cancelRequested = false;
  /** The steps whose model call is finished. */
  private steps: number;
  private usage: RunUsage;

  constructor(
    private readonly run: RunEntity,
    private readonly folder: MessageFolder,
    private readonly publisher: RunEventPublisher,
    private readonly execution: RunExecutionService,
    readonly model: string,
  ) {
    this.steps = run.step;
    this.usage = run.usage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  }

  get finishedSteps(): number {
    return this.steps;
  }

  /** True when an earlier attempt has started a step that is to be made again: its `start-step` was streamed. */
  get hasOpenStep(): boolean {
    return stepCount(this.folder.parts()) > this.steps;
  }

  get totalUsage(): RunUsage {
    return this.usage;
  }

  get stopWasRequested(): boolean {
    return this.cancelRequested;
  }

  parts(): UIMessage['parts'] {
    return this.folder.parts();
  }

  pendingToolCalls(): PendingToolCall[] {
    return pendingToolCalls(this.folder.parts());
  }

  async push(chunk: UIMessageChunk): Promise<void> {
    this.folder.apply(chunk);
    await this.publisher.push(chunk);
    // Whether the model goes on or falls silent. An attempt that is stale hears it from the publisher or the heartbeat.
    this.timer ??= setTimeout(() => void this.save().catch(() => undefined), SAVE_EVERY_MS);
  }

  /** Counts a finished model call. */
  countStep(usage: LanguageModelUsage | undefined): void {
    const input = usage?.inputTokens ?? 0;
    const output = usage?.outputTokens ?? 0;
    this.steps += 1;
    this.usage = {
      inputTokens: this.usage.inputTokens + input,
      outputTokens: this.usage.outputTokens + output,
      totalTokens: this.usage.totalTokens + (usage?.totalTokens ?? input + output),
    };
  }

  /** Stores the answer as far as it has been streamed. Calls queue up. @throws StaleAttemptError, StaleWriterError */
  save(): Promise<void> {
    const save = this.saving.then(() => this.saveNow());
    this.saving = save.catch(() => undefined);
    return save;
  }

  /** Stores nothing any more by itself. */
  close(): void {
    clearTimeout(this.timer);
  }

  /** Ends the live stream. */
  end(): Promise<void> {
    return this.publisher.end();
  }

  private async saveNow(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const parts = this.folder.parts();
    const metadata = this.folder.metadata ?? {};
    const { steps: step, usage } = this;
    await this.publisher.flush();
    const claim = { runId: this.run.id, attempt: this.run.attempt };
    const answer = { parts, metadata, step, usage };
    const saved = await throughOutage(() => this.execution.saveAnswer(claim, this.model, answer));
    this.cancelRequested ||= saved.cancelRequested;
  }
}
