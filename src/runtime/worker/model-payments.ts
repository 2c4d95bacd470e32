import { randomUUID } from 'node:crypto';
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Usage } from '@ai-sdk/provider';
import { wrapLanguageModel } from 'ai';
import { costOf, countInputTokens, RESERVED_OUTPUT_TOKENS } from '../../agents/models/model-price.js';
import type { TierModel } from '../../agents/models/models.service.js';
import { mayHaveCost } from '../../agents/models/provider-failure.js';
import { throughOutage } from '../../core/retry.js';
import type { RunClaim } from '../runs/records/run-attempt.js';
import type { RunSpending } from '../runs/records/run-spending.js';

/** A reserved call that is not settled yet. */
interface OpenPayment {
  readonly callId: string;
  readonly price: NonNullable<TierModel['price']>;
  usage?: LanguageModelV4Usage;
}

/**
 * Pays for the model calls of one attempt under a spending limit. Each request to a provider is reserved before it is
 * made, also a repeated one. A run has one open request at a time.
 */
export class ModelPayments {
  private open: OpenPayment | undefined;
  private readonly paid = new WeakMap<LanguageModelV4, LanguageModelV4>();

  constructor(
    private readonly claim: RunClaim,
    private readonly spending: RunSpending,
  ) {}

  /** The model, whose requests are reserved; `settle` follows its answer. The built-in model costs nothing. */
  payFor(model: LanguageModelV4, terms: TierModel): LanguageModelV4 {
    if (terms.providerId === null) return model;
    const paid = this.paid.get(model) ?? this.reserving(model, terms);
    this.paid.set(model, paid);
    return paid;
  }

  /**
   * Settles the last request, if it was reserved: with what the reported tokens cost, or as reserved if none were
   * reported.
   */
  async settle(): Promise<void> {
    if (this.open === undefined) return;
    const { usage, price } = this.open;
    await this.settleWith(this.open, usage === undefined ? null : costOfUsage(usage, price));
  }

  private reserving(model: LanguageModelV4, terms: TierModel): LanguageModelV4 {
    return wrapLanguageModel({
      model,
      middleware: {
        specificationVersion: 'v4',
        wrapStream: async ({ doStream, params }) => {
          params.abortSignal?.throwIfAborted();
          const open = await this.reserve(params, terms);
          if (params.abortSignal?.aborted) await this.settleWith(open, 0);
          params.abortSignal?.throwIfAborted();
          try {
            const result = await doStream();
            if (open === undefined) return result;
            return { ...result, stream: result.stream.pipeThrough(usageOf((usage) => (open.usage = usage))) };
          } catch (error) {
            await this.settleWith(open, mayHaveCost(error) ? null : 0);
            throw error;
          }
        },
      },
    });
  }

  /**
   * Undefined if no limit applies.
   * @throws StaleAttemptError, StorageLostError, DomainError `spend_limit_reached`, `price_missing`
   */
  private async reserve(
    params: LanguageModelV4CallOptions,
    { name, price, maxOutputTokens }: TierModel,
  ): Promise<OpenPayment | undefined> {
    const callId = randomUUID();
    const output = maxOutputTokens ?? RESERVED_OUTPUT_TOKENS;
    const tokens = { input: countInputTokens(params), cachedInput: 0, output };
    const usd = price === null ? null : costOf(tokens, price);
    const isReserved = await throughOutage(() => this.spending.reserve(this.claim, callId, name, usd));
    this.open = isReserved && price !== null ? { callId, price } : undefined;
    return this.open;
  }

  /** Does nothing for a request that is settled already. */
  private async settleWith(open: OpenPayment | undefined, usd: number | null): Promise<void> {
    if (open === undefined || this.open !== open) return;
    this.open = undefined;
    await throughOutage(() => this.spending.settle(this.claim, open.callId, usd));
  }
}

/** Null if the tokens were not reported, or are no counts. */
function costOfUsage({ inputTokens, outputTokens }: LanguageModelV4Usage, price: OpenPayment['price']): number | null {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return null;
  const input = inputTokens.total ?? 0;
  const cost = costOf({ input, cachedInput: inputTokens.cacheRead ?? 0, output: outputTokens.total ?? 0 }, price);
  return Number.isFinite(cost) && cost >= 0 ? cost : null;
}

type Streamed =
  Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** Passes a stream of a model on, and tells the usage that it reports. */
function usageOf(report: (usage: LanguageModelV4Usage) => void): TransformStream<Streamed, Streamed> {
  return new TransformStream({
    transform: (part, controller) => {
      if (part.type === 'finish') report(part.usage);
      controller.enqueue(part);
    },
  });
}
