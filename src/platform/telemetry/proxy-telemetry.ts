import { Injectable } from '@nestjs/common';
import { type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { withoutCredentials } from '../../core/credential-forms.js';
import { CallLedger, type CallSeries } from './proxy-metrics.js';
import {
  CALL_STREAMABLE_TOOL_SPAN,
  CALL_TOOL_SPAN,
  CONNECTION_ID,
  ERROR_TYPE,
  EXECUTE_TOOL,
  GEN_AI_OPERATION_NAME,
  GEN_AI_TOOL_NAME,
  MCP_METHOD_NAME,
  NOT_LISTED,
  REQUEST_ID,
  TOOL_NAME,
  TOOLS_CALL,
} from './names.js';
import {
  type IncomingTraceContext,
  parentOf,
  type TraceContext,
  traceContextOf,
  validTraceContext,
} from './trace-context.js';
import { Tracing } from './open-telemetry.js';

/** One proxied request, as its entry point describes it. */
export interface ProxiedCall {
  /** The id of an existing connection: an id that a caller invents would consume a label. */
  readonly connectionId: string;
  /** As the caller sent it; for the span only. Empty for a request that is not a tool call. */
  readonly toolName: string;
  /** The tool's name if it is known, otherwise `other`. Empty for a request that is not a tool call. */
  readonly toolLabel: string;
  /** The MCP method, such as `tools/call`; an unknown one counts as `_OTHER`. */
  readonly method: string;
  readonly requestId: string;
  /** True for a request to the streaming endpoint. */
  readonly streamable: boolean;
  /** The caller's trace context, unchecked. */
  readonly incoming: IncomingTraceContext;
  /** True if the caller is a run of this service. */
  readonly isOwn?: boolean;
}

interface ProxiedOutcome {
  readonly status: 'success' | 'error';
  /** A stable code (`ErrorCode`, `tool_error`); `_OTHER` if absent. */
  readonly errorCode?: string | undefined;
}

/** A span attribute can hold the name of an unknown tool, so it is truncated, not rejected. */
const MAX_ATTRIBUTE_LENGTH = 256;
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** Measures every request to an upstream: metrics always, a span if tracing is enabled. */
@Injectable()
export class ProxyTelemetry {
  constructor(
    private readonly ledger: CallLedger,
    private readonly tracing: Tracing,
  ) {}

  /** Begins to measure a request that is no tool call. */
  beginRequest(request: Pick<ProxiedCall, 'connectionId' | 'method' | 'requestId' | 'incoming'>): MeasuredCall {
    return this.begin({ ...request, toolName: '', toolLabel: '', streamable: false });
  }

  begin(call: ProxiedCall): MeasuredCall {
    const series = this.ledger.seriesOf(call.connectionId, call.method, call.toolLabel, call.streamable);
    const { tracer } = this.tracing;
    if (tracer === undefined) return new MeasuredCall(series, headersOf(validTraceContext(call.incoming)), undefined);
    const span = startSpan(tracer, call, series.labels.method);
    return new MeasuredCall(series, headersOf(traceContextOf(span.spanContext())), span);
  }
}

/** A request that is being measured. */
export class MeasuredCall {
  private readonly startedAt = performance.now();
  private ended = false;

  constructor(
    private readonly series: CallSeries,
    /** The W3C trace context to send upstream: empty, the caller's unchanged, or that of this request's own span. */
    readonly headers: Readonly<Record<string, string>>,
    private readonly span: Span | undefined,
  ) {}

  /** Records the end of the request. Only the first call counts. */
  end({ status, errorCode = NOT_LISTED }: ProxiedOutcome): void {
    if (this.ended) return;
    this.ended = true;
    const seconds = (performance.now() - this.startedAt) / 1000;
    if (status === 'success') {
      this.series.recordSuccess(seconds);
    } else {
      this.series.recordError(seconds, errorCode);
      // Without a description: messages can contain text from a caller or an upstream.
      this.span?.setAttribute(ERROR_TYPE, errorCode).setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span?.end();
  }
}

function startSpan(tracer: Tracer, call: ProxiedCall, method: string): Span {
  const isToolCall = method === TOOLS_CALL;
  const toolName = withoutCredentials(call.toolName).slice(0, MAX_ATTRIBUTE_LENGTH);
  return tracer.startSpan(
    isToolCall ? (call.streamable ? CALL_STREAMABLE_TOOL_SPAN : CALL_TOOL_SPAN) : method,
    {
      kind: call.isOwn === true ? SpanKind.CLIENT : SpanKind.SERVER,
      attributes: {
        [CONNECTION_ID]: call.connectionId,
        [REQUEST_ID]: call.requestId,
        [MCP_METHOD_NAME]: method,
        ...(isToolCall && {
          [TOOL_NAME]: toolName,
          [GEN_AI_TOOL_NAME]: toolName,
          // The span of the run's step already has it.
          ...(call.isOwn !== true && { [GEN_AI_OPERATION_NAME]: EXECUTE_TOOL }),
        }),
      },
    },
    parentOf(call.incoming),
  );
}

function headersOf(traceContext: TraceContext | undefined): Readonly<Record<string, string>> {
  return traceContext === undefined ? NO_HEADERS : { ...traceContext };
}
