import type { LanguageModelV4 } from '@ai-sdk/provider';
import { ModelHealth } from '../../agents/models/model-health.js';
import { type TierModel, ModelsService } from '../../agents/models/models.service.js';
import { mayBeOfModel } from '../../agents/models/provider-failure.js';
import { DomainError } from '../../core/domain-error.js';
import { StorageLostError, throughOutage } from '../../core/retry.js';
import { ModelPayments } from './model-payments.js';
import { AnswerInterruptedError } from './model-step.js';
import { Injectable } from '@nestjs/common';
import { type ClaimedRun, claimOf } from '../runs/records/new-run.js';
import { RunSpending } from '../runs/records/run-spending.js';

/**
 * The models of a run. It begins with the first one whose breaker is closed. Where one fails in a way that another may
 * not, the run goes on with the next, and stays with it.
 */
export class RunModels {
  private index = 0;
  private hasBegun = false;
  private readonly opened = new Map<TierModel, LanguageModelV4>();

  /** @param models at least one, in the order in which they are tried */
  constructor(
    private readonly models: readonly TierModel[],
    private readonly health: ModelHealth,
    readonly payments: ModelPayments,
  ) {}

  /** Chooses the first model, when it is about to be called: a breaker lets only one run try. */
  begin(): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    if (this.models.length > 1) this.index = Math.max(0, this.nextAfter(-1));
  }

  get current(): TierModel {
    return this.models[this.index] as TierModel;
  }

  /** Whether another model is called where the current one fails. */
  get hasNext(): boolean {
    return this.index < this.models.length - 1;
  }

  /**
   * The current model, callable.
   * @param isPaid whether its requests are reserved, because a spending limit may apply
   * @throws DomainError when the secrets of its provider cannot be decrypted
   */
  async open(isPaid: boolean): Promise<LanguageModelV4> {
    const { current } = this;
    const model = this.opened.get(current) ?? (await current.open());
    this.opened.set(current, model);
    return isPaid ? this.payments.payFor(model, current) : model;
  }

  noteSuccess(): void {
    if (this.models.length > 1) this.health.noteSuccess(this.current);
  }

  /** Whether the next model may succeed where the current one has failed. */
  canGoOn(error: unknown): boolean {
    return this.hasNext && mayBeAnswered(error);
  }

  /** Goes on to the next model after a failure of the current one. */
  goOn(error: unknown): void {
    if (!isOfFiles(error)) this.health.noteFailure(this.current);
    const next = this.nextAfter(this.index);
    this.index = next === -1 ? this.index + 1 : next;
  }

  private nextAfter(index: number): number {
    return this.models.findIndex((model, n) => n > index && this.health.admits(model));
  }
}

/** `internal` of our own: the secrets of the provider cannot be decrypted, or no module has its kind. */
function mayBeAnswered(error: unknown): boolean {
  // Its cause can look like one of a provider.
  if (error instanceof StorageLostError) return false;
  if (error instanceof DomainError) return error.code === 'internal' || isOfFiles(error);
  return error instanceof AnswerInterruptedError || mayBeOfModel(error);
}

/** Whether the model was not called, because it does not take a file of the request. */
export function isOfFiles(error: unknown): boolean {
  return error instanceof DomainError && error.code === 'file_unsupported';
}

/** Finds the models of an attempt, with what they need from outside. */
@Injectable()
export class RunModelsFactory {
  constructor(
    private readonly models: ModelsService,
    private readonly health: ModelHealth,
    private readonly spending: RunSpending,
  ) {}

  async resolveModels(run: ClaimedRun): Promise<RunModels> {
    const served = await throughOutage(() => this.models.resolveModels(run.organizationId, run.tier));
    return new RunModels(served, this.health, new ModelPayments(claimOf(run), this.spending));
  }
}
