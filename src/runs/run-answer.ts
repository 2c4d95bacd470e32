import type { LanguageModelUsage, UIMessage, UIMessageChunk } from 'ai';
import { throughOutage } from '../common/through-outage.js';
import type { RunEventPublisher } from '../events/run-event-publisher.js';
import type { AnswerState, RunClaim, RunOutcome } from '../threads/run-attempt.js';
import type { NextRun } from '../threads/run-finish.js';
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
  private modelName: string | null;

  constructor(
    private readonly run: RunEntity,
    private readonly folder: MessageFolder,
    private readonly publisher: RunEventPublisher,
    private readonly execution: RunExecutionService,
  ) {
    this.steps = run.step;
    this.modelName = run.model;
    this.usage = run.usage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  }

  /** The model that answers; null until it is known. */
  get model(): string | null {
    return this.modelName;
  }

  set model(name: string) {
    this.modelName = name;
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
    return this.afterSaves(() => this.saveNow());
  }

  /**
   * Stores the whole answer and ends its run with it. Returns the thread's run that may start now, if one waits.
   * @throws StaleAttemptError, StaleWriterError
   */
  finish(outcome: RunOutcome): Promise<NextRun | undefined> {
    return this.afterSaves(async () => {
      const state = await this.streamedState();
      return throughOutage(() => this.execution.finish(this.claim, this.modelName, state, outcome));
    });
  }

  /** Stores nothing any more by itself. */
  close(): void {
    clearTimeout(this.timer);
  }

  /** Ends the live stream. */
  end(): Promise<void> {
    return this.publisher.end();
  }

  private get claim(): RunClaim {
    return { runId: this.run.id, attempt: this.run.attempt };
  }

  private afterSaves<T>(store: () => Promise<T>): Promise<T> {
    const stored = this.saving.then(store);
    this.saving = stored.catch(() => undefined);
    return stored;
  }

  private async saveNow(): Promise<void> {
    const state = await this.streamedState();
    const saved = await throughOutage(() => this.execution.saveAnswer(this.claim, this.modelName, state));
    this.cancelRequested ||= saved.cancelRequested;
  }

  /** The answer as it is now, once all of it is in the live stream. */
  private async streamedState(): Promise<AnswerState> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { steps: step, usage } = this;
    const state = { parts: this.folder.parts(), metadata: this.folder.metadata ?? {}, step, usage };
    await this.publisher.flush();
    return state;
  }
}
