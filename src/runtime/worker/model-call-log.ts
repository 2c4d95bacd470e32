import type { LanguageModelUsage } from 'ai';
import { databaseDate } from '../../core/database-time.js';
import type { TierModel } from '../../agents/models/models.service.js';
import { costOf, type ModelPrice, roundCost } from '../../agents/models/model-price.js';
import { type ModelCall, readCall, type StoredModelCall } from '../runs/records/model-call.js';

/** An agent has at most 100 steps; a run that many workers lose in the middle of a call can exceed this. */
const MAX_RECORDED = 200;

/**
 * The model calls of a run so far, and what they cost. A later attempt continues the record of the attempts before it.
 */
export class ModelCallLog {
  private readonly recorded: ModelCall[];
  private dollars: number | null;
  private readonly attempt: number;
  /** The calls that this attempt has begun. */
  private begun = 0;

  constructor({
    attempt,
    modelCalls,
    costUsd,
  }: {
    attempt: number;
    modelCalls: readonly StoredModelCall[];
    costUsd: number | null;
  }) {
    this.attempt = attempt;
    this.recorded = modelCalls.map(readCall);
    this.dollars = costUsd;
  }

  /** The calls that have ended, oldest first. */
  get calls(): readonly ModelCall[] {
    return this.recorded;
  }

  /** The sum over the calls that have a cost; null if none has. */
  get costUsd(): number | null {
    return this.dollars;
  }

  /** @param called the model */
  begin(step: number, { providerId, model, price }: Pick<TierModel, 'providerId' | 'model' | 'price'>): OpenModelCall {
    const of = { step, attempt: this.attempt, provider_id: providerId, model };
    this.begun += 1;
    return new OpenModelCall(this.begun, of, price, (call) => this.add(call));
  }

  /** Whether another call is still listed. */
  get hasRoom(): boolean {
    return this.recorded.length < MAX_RECORDED;
  }

  private add(call: ModelCall): void {
    if (call.cost_usd !== null) this.dollars = roundCost((this.dollars ?? 0) + call.cost_usd);
    if (this.hasRoom) this.recorded.push(call);
  }
}

/** A model call in progress. End it once, with `succeed` or `fail`. */
class OpenModelCall {
  private readonly startedAt = databaseDate().toISOString();
  private readonly beganAt = performance.now();
  private retries = 0;
  private firstChunkMs: number | null = null;

  constructor(
    /** Its place among the calls of the attempt, from 1. */
    readonly ordinal: number,
    private readonly of: Pick<ModelCall, 'step' | 'attempt' | 'provider_id' | 'model'>,
    private readonly price: ModelPrice | null,
    private readonly onEnd: (call: ModelCall) => void,
  ) {}

  /** The provider is called again. */
  retry(): void {
    this.retries += 1;
  }

  /** The first content of the answer has arrived. */
  firstChunk(): void {
    this.firstChunkMs = Math.round(performance.now() - this.beganAt);
  }

  succeed(usage: LanguageModelUsage | undefined): void {
    this.end(usage, null);
  }

  /** @param errorCode as in the error of the run */
  fail(errorCode: string): void {
    this.end(undefined, errorCode);
  }

  private end(usage: LanguageModelUsage | undefined, errorCode: string | null): void {
    const { inputTokens: input, outputTokens: output, inputTokenDetails, outputTokenDetails } = usage ?? {};
    const cachedInput = inputTokenDetails?.cacheReadTokens;
    const isReported = input !== undefined || output !== undefined;
    const tokens = { input: input ?? 0, cachedInput: cachedInput ?? 0, output: output ?? 0 };
    const cost = isReported && this.price !== null ? costOf(tokens, this.price) : null;
    this.onEnd({
      ...this.of,
      started_at: this.startedAt,
      duration_ms: Math.round(performance.now() - this.beganAt),
      retries: this.retries,
      input_tokens: input ?? null,
      cached_input_tokens: cachedInput ?? null,
      output_tokens: output ?? null,
      // Some servers report numbers that are no counts.
      cost_usd: cost !== null && Number.isFinite(cost) && cost >= 0 ? cost : null,
      error_code: errorCode,
      first_chunk_ms: this.firstChunkMs,
      reasoning_tokens: outputTokenDetails?.reasoningTokens ?? null,
    });
  }
}
