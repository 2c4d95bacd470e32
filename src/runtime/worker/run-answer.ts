import type { LanguageModelUsage, UIMessage, UIMessageChunk } from 'ai';
import { throughOutage } from '../../core/retry.js';
import { WorkTurns } from '../../core/work-turns.js';
import type { RunEventPublisher } from '../events/run-event-publisher.js';
import { type ClaimedRun, claimOf } from '../runs/records/new-run.js';
import type { AnswerState, RunOutcome } from '../runs/records/run-attempt.js';
import type { RunUsage } from '../runs/records/run.entity.js';
import type { RunExecution, SavedAnswer } from '../runs/records/run-execution.js';
import { AnswerOverflowError, MAX_ANSWER_PARTS, MAX_ANSWER_SIZE, sizeOfChunk } from './answer-limits.js';
import type { MessageFolder } from './message-folder.js';
import { ModelCallLog } from './model-call-log.js';
import {
  type GatedPart,
  gatedToolCalls,
  type PendingToolCall,
  pendingToolCalls,
  stepCount,
} from './pending-tool-calls.js';

/**
 * The interval at which an answer in progress is stored between its steps, so that the transcript shows its parts so
 * far.
 */
const SAVE_EVERY_MS = 1000;
/** How many chunks a run handles before it lets others go on. */
const CHUNKS_PER_TURN = 16;

/**
 * The growing answer of one attempt. Every chunk goes to the live stream and into the message. Only what was streamed
 * is stored, so that a later attempt can continue from either.
 */
export class RunAnswer {
  private timer: NodeJS.Timeout | undefined;
  private timerDue = Infinity;
  private saving: Promise<unknown> = Promise.resolve();
  private nextSave: Promise<void> | undefined;
  /** The duration of the latest save, in milliseconds. */
  private saveCost = 0;
  /** The streamed size, by `sizeOfChunk`. */
  private size = 0;
  /** The size where the current step begins. */
  private sizeBeforeStep = 0;
  private cancelRequested = false;
  private hasSteers = false;
  private isSpendLimited: boolean;
  /** The number of steps whose model call is finished. */
  private steps: number;
  private usage: RunUsage;
  /** The model that answers; null until it is known. */
  model: string | null;
  private stored: AnswerState | undefined;
  readonly modelCalls: ModelCallLog;
  private readonly turns: WorkTurns;

  constructor(
    private readonly run: ClaimedRun,
    private readonly folder: MessageFolder,
    private readonly publisher: RunEventPublisher,
    private readonly execution: RunExecution,
  ) {
    this.steps = run.step;
    this.model = run.model;
    this.isSpendLimited = run.hasSpendLimit;
    this.modelCalls = new ModelCallLog(run);
    this.turns = new WorkTurns([run.organizationId, 'runs'], CHUNKS_PER_TURN);
    this.usage = run.usage ?? { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  }

  get finishedSteps(): number {
    return this.steps;
  }

  /** True if an earlier attempt has started a step that must be executed again: its `start-step` was streamed. */
  get hasOpenStep(): boolean {
    return stepCount(this.folder.parts()) > this.steps;
  }

  /** True if an earlier attempt may have streamed more than the live buffer still holds. */
  get isResumed(): boolean {
    return this.run.attempt > 1;
  }

  get totalUsage(): RunUsage {
    return this.usage;
  }

  get stopWasRequested(): boolean {
    return this.cancelRequested;
  }

  /** Messages waited for the run when the answer was stored. */
  get steersWait(): boolean {
    return this.hasSteers;
  }

  /** Whether anything in the organization had a spending limit when the run was claimed, or last stored. */
  get hasSpendLimit(): boolean {
    return this.isSpendLimited;
  }

  /** The streamed size, by `sizeOfChunk`. */
  get length(): number {
    return this.size;
  }

  /** The answer as it was stored with the end of its run; undefined before. */
  get final(): AnswerState | undefined {
    return this.stored;
  }

  parts(): UIMessage['parts'] {
    return this.folder.parts();
  }

  get metadata(): Record<string, unknown> | undefined {
    return this.folder.metadata;
  }

  pendingToolCalls(): PendingToolCall[] {
    return pendingToolCalls(this.folder.parts());
  }

  gatedToolCalls(): GatedPart[] {
    return gatedToolCalls(this.folder.parts());
  }

  /**
   * Streams a chunk from a model or a tool.
   * @throws AnswerOverflowError if the chunk exceeds the limits of an answer; it is then not streamed
   */
  async push(chunk: UIMessageChunk): Promise<void> {
    const size = sizeOfChunk(chunk);
    if (this.size + size > MAX_ANSWER_SIZE || this.folder.partCount > MAX_ANSWER_PARTS) throw new AnswerOverflowError();
    await this.stream(chunk, size);
    this.saveLater();
    await this.turns.next();
  }

  /** Counts a part of a model's stream that adds nothing. Returns a promise if others go on first. */
  skip(): Promise<void> | undefined {
    return this.turns.next();
  }

  /** Streams a chunk from the run itself, regardless of the answer's size. */
  async append(chunk: UIMessageChunk): Promise<void> {
    await this.stream(chunk, 0);
    this.saveLater();
  }

  /**
   * Streams a chunk of an answer that is still being aligned with the stored one. It is not stored: until all of it is
   * here, it has less than what an earlier attempt has stored.
   */
  async restore(chunk: UIMessageChunk): Promise<void> {
    await this.stream(chunk, sizeOfChunk(chunk));
  }

  /** Ends the texts that a model has begun. */
  async endTexts(): Promise<void> {
    for (const chunk of this.folder.endsOfOpenTexts()) await this.append(chunk);
  }

  /** Applies a chunk that an earlier attempt has streamed. */
  replay(frame: string): void {
    this.fold(JSON.parse(frame) as UIMessageChunk, frame.length);
  }

  /** Counts a finished step. @param usage of its model call */
  countStep(usage: LanguageModelUsage | undefined): void {
    this.steps += 1;
    this.countUsage(usage);
  }

  /** Counts the tokens of a finished model call. */
  countUsage(usage: LanguageModelUsage | undefined): void {
    const input = usage?.inputTokens ?? 0;
    const output = usage?.outputTokens ?? 0;
    this.usage = {
      inputTokens: this.usage.inputTokens + input,
      outputTokens: this.usage.outputTokens + output,
      totalTokens: this.usage.totalTokens + (usage?.totalTokens ?? input + output),
    };
  }

  /**
   * Stores the answer as streamed so far. While a save is in progress, all further calls share the next one.
   * @throws StaleAttemptError, StaleWriterError
   */
  save(): Promise<void> {
    this.nextSave ??= this.afterSaves(() => {
      this.nextSave = undefined;
      return this.saveNow();
    });
    return this.nextSave;
  }

  /**
   * Stores the answer as streamed so far, with what else belongs into the same transaction. The call can be repeated.
   * @throws StaleAttemptError, StaleWriterError
   */
  saveWith(store: (state: AnswerState) => Promise<SavedAnswer>): Promise<void> {
    return this.afterSaves(() => this.saveNow(store));
  }

  /**
   * Schedules a save that outcomes in quick succession share, so that each is stored soon without a save of its own.
   */
  saveSoon(): void {
    this.saveWithin(Math.min(SAVE_EVERY_MS, this.saveCost * 4));
  }

  /**
   * Stores the whole answer and the end of its run. Returns whether the thread's next run can start now.
   * @throws StaleAttemptError, StaleWriterError
   */
  finish(outcome: RunOutcome): Promise<boolean> {
    return this.afterSaves(async () => {
      const state = await this.streamedState();
      const hasNext = await throughOutage(() => this.execution.finish(claimOf(this.run), this.model, state, outcome));
      this.stored = state;
      return hasNext;
    });
  }

  /** Cancels the scheduled save. */
  close(): void {
    this.stopTimer();
  }

  /** Signals that nothing is streamed for now. */
  pause(): Promise<void> {
    return this.publisher.pause();
  }

  /** Ends the live stream. */
  end(): Promise<void> {
    return this.publisher.end();
  }

  private async stream(chunk: UIMessageChunk, size: number): Promise<void> {
    this.fold(chunk, size);
    await this.publisher.push(chunk);
  }

  /** @param size that the chunk adds to the answer */
  private fold(chunk: UIMessageChunk, size: number): void {
    if (chunk.type === 'start-step') this.sizeBeforeStep = this.size;
    this.size = chunk.type === 'reset-step' ? this.sizeBeforeStep : this.size + size;
    this.folder.apply(chunk);
  }

  /**
   * Stores the latest chunk even if the model sends nothing more. The publisher or the heartbeat reports a stale
   * attempt.
   */
  private saveLater(): void {
    this.saveWithin(Math.max(SAVE_EVERY_MS, this.saveCost * 10));
  }

  private afterSaves<T>(store: () => Promise<T>): Promise<T> {
    const stored = this.saving.then(store);
    this.saving = stored.catch(() => undefined);
    return stored;
  }

  private saveWithin(milliseconds: number): void {
    const due = performance.now() + milliseconds;
    if (due >= this.timerDue) return;
    clearTimeout(this.timer);
    this.timerDue = due;
    this.timer = setTimeout(() => void this.save().catch(() => undefined), milliseconds);
  }

  private stopTimer(): void {
    clearTimeout(this.timer);
    this.timerDue = Infinity;
  }

  private async saveNow(
    store = (state: AnswerState) => this.execution.saveAnswer(claimOf(this.run), this.model, state),
  ): Promise<void> {
    const startedAt = performance.now();
    const state = await this.streamedState();
    const saved = await throughOutage(() => store(state));
    this.saveCost = performance.now() - startedAt;
    this.cancelRequested ||= saved.cancelRequested;
    this.hasSteers = saved.hasSteers;
    this.isSpendLimited = saved.hasSpendLimit;
  }

  /** Returns the current answer, once all of it is in the live stream. */
  private async streamedState(): Promise<AnswerState> {
    this.stopTimer();
    const { steps: step, usage } = this;
    const { costUsd, calls } = this.modelCalls;
    const metadata = this.folder.metadata ?? {};
    const state = { parts: this.folder.parts(), metadata, step, usage, costUsd, modelCalls: [...calls] };
    await this.publisher.flush();
    return state;
  }
}
