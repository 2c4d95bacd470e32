import { Injectable } from '@nestjs/common';
import {
  type Attributes,
  type Context,
  context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { databaseNow } from '../../core/database-time.js';
import { withoutCredentials } from '../../core/credential-forms.js';
import {
  CHAT,
  ERROR_TYPE,
  EXECUTE_TOOL,
  EXTENSION_TOOL,
  GEN_AI_AGENT_ID,
  GEN_AI_AGENT_NAME,
  GEN_AI_CONVERSATION_ID,
  GEN_AI_OPERATION_NAME,
  GEN_AI_OUTPUT_TYPE,
  GEN_AI_PROVIDER_NAME,
  GEN_AI_PROVIDERS,
  GEN_AI_REQUEST_MAX_TOKENS,
  GEN_AI_REQUEST_MODEL,
  GEN_AI_REQUEST_STREAM,
  GEN_AI_REQUEST_TEMPERATURE,
  GEN_AI_RESPONSE_FINISH_REASONS,
  GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK,
  GEN_AI_TOOL_CALL_ID,
  GEN_AI_TOOL_NAME,
  GEN_AI_TOOL_TYPE,
  GEN_AI_USAGE_INPUT_TOKENS,
  GEN_AI_USAGE_OUTPUT_TOKENS,
  INVOKE_AGENT,
  POST_SCHEDULED_RUN,
  REQUEST_ID,
  RUN_ATTEMPT,
  RUN_ID,
  RUN_STATUS,
  SCHEDULE_ID,
} from './names.js';
import { type NamedModel, type RunEnd, RunMetrics, type TokenUsage } from './run-metrics.js';
import {
  type IncomingTraceContext,
  parentOf,
  type TraceContext,
  traceContextOf,
  validTraceContext,
} from './trace-context.js';
import { Tracing } from './open-telemetry.js';

/** Longer span attributes are truncated. */
const MAX_ATTRIBUTE_LENGTH = 256;

/** A run as its worker claimed it. */
interface ObservedRun {
  readonly id: string;
  readonly threadId: string;
  readonly agentId: string;
  readonly requestId: string;
  readonly attempt: number;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  /** How long it has waited for approvals, in milliseconds. */
  readonly waitedMs: number;
  /** The trace of the request that posted it. */
  readonly traceparent: string | null;
  readonly tracestate: string | null;
}

/** The parameters of a model call. */
interface ObservedChat {
  readonly temperature: number | null;
  readonly maxOutputTokens: number | null;
  /** Whether the model is asked for JSON. */
  readonly isJson: boolean;
}

/** Observes runs: metrics always, spans if tracing is enabled. */
@Injectable()
export class RunTelemetry {
  constructor(
    private readonly tracing: Tracing,
    private readonly metrics: RunMetrics,
  ) {}

  /**
   * Starts to observe an attempt. Every attempt is a span of its own in the trace of the request that posted the run.
   */
  begin(run: ObservedRun): RunObservation {
    return new RunObservation(run, this.tracing, this.metrics);
  }

  /**
   * Begins the trace of a run that no request asks for. Without it, each attempt would have a trace of its own.
   * @param post gets the trace context for the run, if tracing is enabled
   */
  async withinScheduleTrace<T>(
    scheduleId: string,
    requestId: string,
    post: (trace: TraceContext | undefined) => Promise<T>,
  ): Promise<T> {
    const attributes = { [SCHEDULE_ID]: scheduleId, [REQUEST_ID]: requestId };
    const span = this.tracing.tracer?.startSpan(POST_SCHEDULED_RUN, { attributes }, ROOT_CONTEXT);
    try {
      return await post(span && traceContextOf(span.spanContext()));
    } finally {
      span?.end();
    }
  }

  /** Counts a run that ended without a start. */
  countUnstarted(end: RunEnd): void {
    this.metrics.recordEnd(end, undefined);
  }
}

/** One attempt at a run that is being observed. */
export class RunObservation {
  private readonly beganAt = performance.now();
  private readonly span: Span | undefined;
  private readonly context: Context;
  private readonly incoming: IncomingTraceContext;
  private named: NamedModel = { provider: 'unknown', model: 'unknown' };
  private sawFirstChunk: boolean;

  constructor(
    private readonly run: ObservedRun,
    private readonly tracing: Tracing,
    private readonly metrics: RunMetrics,
  ) {
    const { traceparent, tracestate, attempt } = run;
    this.incoming = { traceparent: traceparent ?? undefined, tracestate: tracestate ?? undefined };
    const parent = parentOf(this.incoming);
    this.span = tracing.tracer?.startSpan(
      INVOKE_AGENT,
      {
        attributes: {
          [GEN_AI_OPERATION_NAME]: INVOKE_AGENT,
          [GEN_AI_AGENT_ID]: run.agentId,
          [GEN_AI_CONVERSATION_ID]: run.threadId,
          [RUN_ID]: run.id,
          [RUN_ATTEMPT]: attempt,
          [REQUEST_ID]: run.requestId,
        },
      },
      parent,
    );
    this.context = this.span === undefined ? parent : trace.setSpan(parent, this.span);
    // The first chunk of a later attempt is not the first chunk of the run.
    this.sawFirstChunk = attempt > 1;
    if (attempt === 1) metrics.recordStart(waitedMs(run));
  }

  /** Runs the work so that its spans belong to the run. */
  within<T>(work: () => Promise<T>): Promise<T> {
    return context.with(this.context, work);
  }

  /** @param name `<kind of provider>/<model>` */
  setModel(name: string): void {
    const slash = name.indexOf('/');
    if (slash === -1) return;
    const kind = name.slice(0, slash);
    this.named = { provider: GEN_AI_PROVIDERS.get(kind) ?? kind, model: name.slice(slash + 1) };
    this.span?.setAttributes(modelAttributes(this.named));
  }

  setAgentName(name: string): void {
    const shown = truncated(name);
    this.span?.setAttribute(GEN_AI_AGENT_NAME, shown).updateName(`${INVOKE_AGENT} ${shown}`);
  }

  beginChat({ temperature, maxOutputTokens, isJson }: ObservedChat): ChatObservation {
    const span = this.startSpan(`${CHAT} ${truncated(this.named.model)}`, SpanKind.CLIENT, {
      [GEN_AI_OPERATION_NAME]: CHAT,
      [GEN_AI_CONVERSATION_ID]: this.run.threadId,
      [GEN_AI_REQUEST_STREAM]: true,
      ...modelAttributes(this.named),
      ...(isJson && { [GEN_AI_OUTPUT_TYPE]: 'json' }),
      ...(temperature !== null && { [GEN_AI_REQUEST_TEMPERATURE]: temperature }),
      ...(maxOutputTokens !== null && { [GEN_AI_REQUEST_MAX_TOKENS]: maxOutputTokens }),
    });
    return new ChatObservation(span, this.contextOf(span), this.named, this.metrics, () => this.noteFirstChunk());
  }

  beginTool(toolName: string, callId: string): ToolObservation {
    const shown = truncated(toolName);
    const span = this.startSpan(`${EXECUTE_TOOL} ${shown}`, SpanKind.INTERNAL, {
      [GEN_AI_OPERATION_NAME]: EXECUTE_TOOL,
      [GEN_AI_TOOL_NAME]: shown,
      [GEN_AI_TOOL_CALL_ID]: truncated(callId),
      [GEN_AI_TOOL_TYPE]: EXTENSION_TOOL,
      [REQUEST_ID]: this.run.requestId,
    });
    const sent = span === undefined ? validTraceContext(this.incoming) : traceContextOf(span.spanContext());
    return new ToolObservation(span, this.contextOf(span), sent ?? {});
  }

  /** Records the end of the run. Call it when the end is stored. */
  conclude(end: RunEnd): void {
    const { startedAt, waitedMs, attempt } = this.run;
    const ownMs = performance.now() - this.beganAt;
    const isFirst = attempt === 1 || startedAt === null;
    this.metrics.recordEnd(end, isFirst ? ownMs : Math.max(ownMs, databaseNow() - startedAt.getTime() - waitedMs));
    this.span?.setAttribute(RUN_STATUS, end.status);
    if (end.errorCode !== undefined) fail(this.span, end.errorCode);
  }

  /** Ends the span of the attempt, whatever its outcome. */
  end(): void {
    this.span?.end();
  }

  private noteFirstChunk(): void {
    if (this.sawFirstChunk) return;
    this.sawFirstChunk = true;
    this.metrics.recordFirstChunk(waitedMs(this.run) + performance.now() - this.beganAt);
  }

  private startSpan(name: string, kind: SpanKind, attributes: Attributes): Span | undefined {
    return this.tracing.tracer?.startSpan(name, { kind, attributes }, this.context);
  }

  private contextOf(span: Span | undefined): Context {
    return span === undefined ? this.context : trace.setSpan(this.context, span);
  }
}

/** Observes one model call. */
class ChatObservation {
  private readonly beganAt = performance.now();
  private firstChunkMs: number | undefined;

  constructor(
    private readonly span: Span | undefined,
    private readonly context: Context,
    private readonly named: NamedModel,
    private readonly metrics: RunMetrics,
    private readonly onFirstChunk: () => void,
  ) {}

  within<T>(work: () => Promise<T>): Promise<T> {
    return context.with(this.context, work);
  }

  /** Call once, with the first chunk that has content of the answer. */
  firstChunk(): void {
    this.firstChunkMs = performance.now() - this.beganAt;
    this.onFirstChunk();
  }

  succeed(finishReason: string, usage: TokenUsage | undefined): void {
    this.record();
    if (usage !== undefined) this.metrics.recordTokens(this.named, usage);
    const { inputTokens, outputTokens } = usage ?? {};
    this.span
      ?.setAttributes({
        [GEN_AI_RESPONSE_FINISH_REASONS]: [finishReason],
        ...(this.firstChunkMs !== undefined && { [GEN_AI_RESPONSE_TIME_TO_FIRST_CHUNK]: this.firstChunkMs / 1000 }),
        ...(inputTokens !== undefined && { [GEN_AI_USAGE_INPUT_TOKENS]: inputTokens }),
        ...(outputTokens !== undefined && { [GEN_AI_USAGE_OUTPUT_TOKENS]: outputTokens }),
      })
      .end();
  }

  fail(errorCode: string): void {
    this.record(errorCode);
    fail(this.span, errorCode);
    this.span?.end();
  }

  private record(errorCode?: string): void {
    const ms = performance.now() - this.beganAt;
    this.metrics.recordChat(this.named, { ms, firstChunkMs: this.firstChunkMs, errorCode });
  }
}

/** Observes one tool call. */
class ToolObservation {
  constructor(
    private readonly span: Span | undefined,
    private readonly context: Context,
    /** The trace context for the request to the upstream; its span is a child of this one. */
    readonly traceContext: IncomingTraceContext,
  ) {}

  within<T>(work: () => Promise<T>): Promise<T> {
    return context.with(this.context, work);
  }

  /** @param errorCode why it failed, as a stable code; the tool's own failure is `tool_error` */
  end(errorCode?: string): void {
    if (errorCode !== undefined) fail(this.span, errorCode);
    this.span?.end();
  }
}

/** Without a description: messages can contain text from a model or an upstream. */
function fail(span: Span | undefined, errorCode: string): void {
  span?.setAttribute(ERROR_TYPE, errorCode).setStatus({ code: SpanStatusCode.ERROR });
}

function modelAttributes({ provider, model }: NamedModel): Attributes {
  return { [GEN_AI_PROVIDER_NAME]: provider, [GEN_AI_REQUEST_MODEL]: truncated(model) };
}

function truncated(text: string): string {
  return withoutCredentials(text).slice(0, MAX_ATTRIBUTE_LENGTH);
}

/** The time from the creation of the run to its first start, by the clock of the database. */
function waitedMs({ createdAt, startedAt }: ObservedRun): number {
  return startedAt === null ? 0 : Math.max(0, startedAt.getTime() - createdAt.getTime());
}
