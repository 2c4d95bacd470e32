import { Injectable } from '@nestjs/common';
import { withoutCredentials } from '../../core/credential-forms.js';
import { MCP_METHODS, NOT_LISTED, OTHER, TOOLS_CALL } from './names.js';
import { DurationHistogram } from './duration-histogram.js';

/** The labels of a series of calls. The number of values is bounded. */
interface CallLabels {
  readonly connectionId: string;
  /** Undefined for a request that is not a tool call. */
  readonly tool: string | undefined;
  readonly method: string;
  readonly streamable: boolean;
}

/** Far more than there are error codes: protects against callers that invent them. */
const MAX_ERROR_TYPES = 100;
const ERROR_TYPE_SHAPE = /^[A-Za-z0-9_-]{1,64}$/;

/** The calls with the same labels: how many succeeded, how many failed with which error, and how long they took. */
export class CallSeries {
  readonly succeeded = new DurationHistogram();
  readonly failed = new Map<string, DurationHistogram>();

  constructor(readonly labels: CallLabels) {}

  recordSuccess(seconds: number): void {
    this.succeeded.record(seconds);
  }

  recordError(seconds: number, errorType: string): void {
    let histogram = this.failed.get(errorType);
    if (histogram === undefined) {
      const isNew = this.failed.size < MAX_ERROR_TYPES && ERROR_TYPE_SHAPE.test(errorType);
      const type = isNew ? errorType : NOT_LISTED;
      histogram = this.failed.get(type) ?? new DurationHistogram();
      this.failed.set(type, histogram);
    }
    histogram.record(seconds);
  }
}

/** The number of series with labels of their own in one process. */
export const MAX_SERIES = 2000;
const MAX_LABEL_LENGTH = 128;

/** The series of one connection: tool calls, streamed tool calls, and everything else. */
class ConnectionSeries {
  readonly tools = new Map<string, CallSeries>();
  readonly streamedTools = new Map<string, CallSeries>();
  readonly methods = new Map<string, CallSeries>();
}

/**
 * All calls of this process, by connection and tool, or by method for other requests. The first `MAX_SERIES` series get
 * labels of their own. After that, a new tool counts as `other`, and a new connection counts as `other` with all its
 * tools. Every call is counted, and callers cannot make the list grow without limit.
 *
 * The OpenTelemetry SDK hashes the labels at each measurement (4,500 ns for the four of one call, measured) and folds
 * everything above its own limit into one series without labels. Here a call costs one or two look-ups.
 */
@Injectable()
export class CallLedger {
  private readonly connections = new Map<string, ConnectionSeries>();
  private readonly overflow = new ConnectionSeries();
  private readonly all: CallSeries[] = [];

  get series(): readonly CallSeries[] {
    return this.all;
  }

  /** @param toolLabel ignored unless `method` is `tools/call` */
  seriesOf(connectionId: string, method: string, toolLabel: string, streamable: boolean): CallSeries {
    const connection = this.connections.get(connectionId);
    const isToolCall = method === TOOLS_CALL;
    const known = connection && seriesIn(connection, isToolCall, streamable).get(isToolCall ? toolLabel : method);
    return known ?? this.open(connectionId, isToolCall ? toolLabel : method, isToolCall, streamable);
  }

  private open(connectionId: string, name: string, isToolCall: boolean, streamable: boolean): CallSeries {
    const isFull = this.all.length >= MAX_SERIES;
    let connection = this.connections.get(connectionId);
    if (connection === undefined && !isFull) {
      connection = new ConnectionSeries();
      this.connections.set(connectionId, connection);
    }
    const label = isToolCall
      ? isFull
        ? OTHER
        : withoutCredentials(name).slice(0, MAX_LABEL_LENGTH)
      : isFull || !MCP_METHODS.has(name)
        ? NOT_LISTED
        : name;
    const group = seriesIn(connection ?? this.overflow, isToolCall, streamable);
    const known = group.get(label);
    if (known !== undefined) return known;
    const series = new CallSeries({
      connectionId: connection === undefined ? OTHER : connectionId,
      tool: isToolCall ? label : undefined,
      method: isToolCall ? TOOLS_CALL : label,
      streamable: isToolCall && streamable,
    });
    group.set(label, series);
    this.all.push(series);
    return series;
  }
}

function seriesIn(connection: ConnectionSeries, isToolCall: boolean, streamable: boolean): Map<string, CallSeries> {
  if (!isToolCall) return connection.methods;
  return streamable ? connection.streamedTools : connection.tools;
}
