import { Injectable } from '@nestjs/common';
import { type Span, SpanKind, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { withoutCredentials } from '../common/credential-forms.js';
import { CallLedger } from './call-ledger.js';
import type { CallSeries } from './call-series.js';
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
import { Tracing } from './tracing.js';

/** One proxied request, as its door knows it. */
export interface ProxiedCall {
  /** Of a connection that exists: an id that a caller made up would use up a label. */
  readonly connectionId: string;
  /** As the caller sent it; for the span only. Empty for a request that is no tool call. */
  readonly toolName: string;
  /** The tool's name if it is known, else `other`. Empty for a request that is no tool call. */
  readonly toolLabel: string;
  /** The MCP method, `tools/call` and others; one that is not known counts as `_OTHER`. */
  readonly method: string;
  readonly requestId: string;
  /** Did it come by the streaming endpoint? */
  readonly streamable: boolean;
  /** The caller's trace context, unchecked. */
  readonly incoming: IncomingTraceContext;
  /** Is the caller a run of this service? */
  readonly isOwn?: boolean;
}

export interface ProxiedOutcome {
  readonly status: 'success' | 'error';
  /** A stable word (`ErrorCode`, `tool_error`); absent: `_OTHER`. */
  readonly errorCode?: string | undefined;
}

/** A request that is being measured. */
export interface MeasuredCall {
  /** W3C trace context to send upstream: none, the caller's as it came, or that of this request's own span. */
  readonly headers: Readonly<Record<string, string>>;
  /** The request has been answered. Only the first time counts. */
  end(outcome: ProxiedOutcome): void;
}

/** A span attribute may hold a name that is no tool's: it is cut, not refused. */
const MAX_ATTRIBUTE_LENGTH = 256;
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

/** Measures every request to an upstream: metrics always, a span when traces are asked for. */
@Injectable()
export class ProxyTelemetry {
  constructor(
    private readonly ledger: CallLedger,
    private readonly tracing: Tracing,
  ) {}

  begin(call: ProxiedCall): MeasuredCall {
    const series = this.ledger.seriesOf(call.connectionId, call.method, call.toolLabel, call.streamable);
    const { tracer } = this.tracing;
    if (tracer === undefined) return new Measurement(series, headersOf(validTraceContext(call.incoming)), undefined);
    const span = startSpan(tracer, call, series.labels.method);
    return new Measurement(series, headersOf(traceContextOf(span.spanContext())), span);
  }
}

class Measurement implements MeasuredCall {
  private readonly startedAt = performance.now();
  private ended = false;

  constructor(
    private readonly series: CallSeries,
    readonly headers: Readonly<Record<string, string>>,
    private readonly span: Span | undefined,
  ) {}

  end({ status, errorCode = NOT_LISTED }: ProxiedOutcome): void {
    if (this.ended) return;
    this.ended = true;
    const seconds = (performance.now() - this.startedAt) / 1000;
    if (status === 'success') {
      this.series.recordSuccess(seconds);
    } else {
      this.series.recordError(seconds, errorCode);
      // Without a description: messages may hold what a caller or an upstream wrote.
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
          // The span of the run's step says it already.
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
