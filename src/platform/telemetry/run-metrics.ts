import { Injectable } from '@nestjs/common';
import type { Attributes, Histogram } from '@opentelemetry/api';
import { Metering } from './open-telemetry.js';
import {
  CHAT,
  ERROR_TYPE,
  GEN_AI_OPERATION_DURATION,
  GEN_AI_OPERATION_NAME,
  GEN_AI_PROVIDER_NAME,
  GEN_AI_REQUEST_MODEL,
  GEN_AI_TIME_TO_FIRST_CHUNK,
  GEN_AI_TOKEN_TYPE,
  GEN_AI_TOKEN_USAGE,
  RUN_DURATION,
  RUN_QUEUE_WAIT,
  RUN_TIME_TO_FIRST_CHUNK,
  RUNS_ENDED,
  STATUS,
  OTHER,
} from './names.js';
import { withoutCredentials } from '../../core/credential-forms.js';

const MAX_LABEL_LENGTH = 128;

/** The number of models, and of error codes, with labels of their own in one process. */
const MAX_MODELS = 100;
const MAX_ERROR_TYPES = 100;

export interface RunEnd {
  readonly status: 'completed' | 'failed' | 'cancelled';
  /** Why it failed, as a stable code. */
  readonly errorCode?: string | undefined;
}

/** The tokens of one model call, as far as the provider reports them. */
export interface TokenUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** A model by its kind of provider and its name there. */
export interface NamedModel {
  readonly provider: string;
  readonly model: string;
}

const LATENCY_BOUNDARIES = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
const RUN_BOUNDARIES = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600];
/** These two as in the GenAI convention. */
const OPERATION_BOUNDARIES = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKEN_BOUNDARIES = Array.from({ length: 14 }, (_, power) => 4 ** power);

/** The metrics of runs and of their steps. Events that occur more than once per step are not measured. */
@Injectable()
export class RunMetrics {
  private readonly ended;
  private readonly queueWait;
  private readonly firstChunk;
  private readonly duration;
  private readonly tokens;
  private readonly chatDuration;
  private readonly chatFirstChunk;
  private readonly models = new BoundedLabel(MAX_MODELS);
  private readonly errorTypes = new BoundedLabel(MAX_ERROR_TYPES);

  constructor({ meter }: Metering) {
    const seconds = (name: string, description: string, boundaries: number[]): Histogram =>
      meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries: boundaries } });
    this.ended = meter.createCounter(RUNS_ENDED, { description: 'Runs that ended.' });
    this.queueWait = seconds(RUN_QUEUE_WAIT, 'Time from the creation of a run to its first start.', LATENCY_BOUNDARIES);
    this.firstChunk = seconds(
      RUN_TIME_TO_FIRST_CHUNK,
      'Time from the creation of a run to the first chunk of its model.',
      LATENCY_BOUNDARIES,
    );
    this.duration = seconds(
      RUN_DURATION,
      'Time from the first start of a run to its end, without waiting for approvals.',
      RUN_BOUNDARIES,
    );
    this.tokens = meter.createHistogram(GEN_AI_TOKEN_USAGE, {
      unit: '{token}',
      description: 'Tokens of model calls.',
      advice: { explicitBucketBoundaries: TOKEN_BOUNDARIES },
    });
    this.chatDuration = seconds(GEN_AI_OPERATION_DURATION, 'Duration of model calls.', OPERATION_BOUNDARIES);
    this.chatFirstChunk = seconds(
      GEN_AI_TIME_TO_FIRST_CHUNK,
      'Time from a model call to its first chunk.',
      OPERATION_BOUNDARIES,
    );
  }

  /** Records the first start of a run. */
  recordStart(waitedMs: number): void {
    this.queueWait.record(waitedMs / 1000);
  }

  recordFirstChunk(sincePostMs: number): void {
    this.firstChunk.record(sincePostMs / 1000);
  }

  /** @param durationMs undefined for a run that never started */
  recordEnd({ status, errorCode }: RunEnd, durationMs: number | undefined): void {
    const attributes = {
      [STATUS]: status,
      ...(errorCode !== undefined && { [ERROR_TYPE]: this.errorTypes.of(errorCode) }),
    };
    this.ended.add(1, attributes);
    if (durationMs !== undefined) this.duration.record(durationMs / 1000, { [STATUS]: status });
  }

  recordChat(
    named: NamedModel,
    call: { ms: number; firstChunkMs?: number | undefined; errorCode?: string | undefined },
  ): void {
    const attributes = this.chatAttributes(named);
    const failure = call.errorCode === undefined ? {} : { [ERROR_TYPE]: this.errorTypes.of(call.errorCode) };
    this.chatDuration.record(call.ms / 1000, { ...attributes, ...failure });
    if (call.firstChunkMs !== undefined) this.chatFirstChunk.record(call.firstChunkMs / 1000, attributes);
  }

  recordTokens(named: NamedModel, { inputTokens, outputTokens }: TokenUsage): void {
    const attributes = this.chatAttributes(named);
    if (inputTokens !== undefined) this.tokens.record(inputTokens, { ...attributes, [GEN_AI_TOKEN_TYPE]: 'input' });
    if (outputTokens !== undefined) this.tokens.record(outputTokens, { ...attributes, [GEN_AI_TOKEN_TYPE]: 'output' });
  }

  private chatAttributes({ provider, model }: NamedModel): Attributes {
    return {
      [GEN_AI_OPERATION_NAME]: CHAT,
      [GEN_AI_PROVIDER_NAME]: provider,
      [GEN_AI_REQUEST_MODEL]: this.models.of(model),
    };
  }
}

/** Limits the values of a label; further ones count as `other`, so that the number of series stays bounded. */
export class BoundedLabel {
  private readonly known = new Map<string, string>();

  constructor(private readonly max: number) {}

  of(value: string): string {
    const known = this.known.get(value);
    if (known !== undefined) return known;
    if (this.known.size >= this.max) return OTHER;
    const label = withoutCredentials(value).slice(0, MAX_LABEL_LENGTH);
    this.known.set(value, label);
    return label;
  }
}
