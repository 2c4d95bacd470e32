import { Injectable } from '@nestjs/common';
import { withoutCredentials } from '../common/credential-forms.js';
import { CallSeries } from './call-series.js';
import { MCP_METHODS, NOT_LISTED, OTHER, TOOLS_CALL } from './names.js';

/** How many series get labels of their own in one process. */
export const MAX_SERIES = 2000;
const MAX_LABEL_LENGTH = 128;

/** The series of one connection: tool calls, streamed tool calls, and everything else. */
class ConnectionSeries {
  readonly tools = new Map<string, CallSeries>();
  readonly streamedTools = new Map<string, CallSeries>();
  readonly methods = new Map<string, CallSeries>();
}

/**
 * All calls of this process by connection and tool, or by method where no tool is called. The first `MAX_SERIES` get
 * labels of their own; from then on a new tool counts as `other`, and so does the tool of a new connection, whose id
 * counts as `other` too. Nothing is ever lost, and no caller can make the list grow without end.
 *
 * The OpenTelemetry SDK hashes the labels anew at each measurement (4,500 ns for the four of one call, measured), and folds all
 * that exceeds its own limit into one series without any label. Here a call costs a look-up or two.
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
