import { Injectable } from '@nestjs/common';
import type { Attributes } from '@opentelemetry/api';
import type { CollectionResult, MetricData, MetricProducer } from '@opentelemetry/sdk-metrics';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  DURATION_BOUNDARIES,
  DurationHistogram,
  collected,
  counterOf,
  histogramOf,
  hrTime,
  type MeasuredGroup,
  type MeasuredTime,
} from './metric-data.js';
import {
  CONNECTION_ID,
  ERROR_TYPE,
  EXECUTE_TOOL,
  GEN_AI_OPERATION_NAME,
  GEN_AI_TOOL_NAME,
  MCP_METHOD_NAME,
  MCP_SERVER_OPERATION_DURATION,
  PROXY_METRICS,
  type ProxyMetricNames,
  STATUS,
  STREAMABLE_PROXY_METRICS,
  TOOL_NAME,
  MCP_METHODS,
  NOT_LISTED,
  OTHER,
  TOOLS_CALL,
} from './names.js';
import { withoutCredentials } from '../../core/credential-forms.js';

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

/** The MCP convention's buckets begin at 10 ms; ours contain them. */
const FIRST_MCP_BOUNDARY = DURATION_BOUNDARIES.indexOf(0.01);

const SERIES_PER_TURN = 100;

const MCP_OPERATIONS = {
  name: MCP_SERVER_OPERATION_DURATION,
  description: 'Duration of MCP requests and notifications, from receipt to response.',
};

/**
 * The metrics of proxied requests, derived from the ledger whenever they are collected. Requests, errors and durations
 * come from the same counts, so they are always consistent. All are cumulative since the start.
 */
@Injectable()
export class ProxyMetrics implements MetricProducer {
  private readonly startTime = hrTime(Date.now());

  constructor(private readonly ledger: CallLedger) {}

  async collect(): Promise<CollectionResult> {
    const time = { startTime: this.startTime, endTime: hrTime(Date.now()) };
    const { series } = this.ledger;
    return collected([
      ...(await proxyMetrics(
        PROXY_METRICS,
        series.filter((one) => !one.labels.streamable),
        time,
      )),
      ...(await proxyMetrics(
        STREAMABLE_PROXY_METRICS,
        series.filter((one) => one.labels.streamable),
        time,
      )),
      histogramOf(MCP_OPERATIONS, await operations(series), time, FIRST_MCP_BOUNDARY),
    ]);
  }
}

async function proxyMetrics(
  names: ProxyMetricNames,
  series: readonly CallSeries[],
  time: MeasuredTime,
): Promise<MetricData[]> {
  const { requests, errors } = await proxied(series);
  return [
    histogramOf({ name: names.duration, description: 'Duration of proxied requests.' }, requests, time),
    counterOf({ name: names.requests, description: 'Proxied requests.' }, requests, time),
    counterOf({ name: names.errors, description: 'Proxied requests that failed.' }, errors, time),
  ];
}

/** By connection, tool and status. Errors are reported from zero, so that a rate includes the first error. */
async function proxied(series: readonly CallSeries[]): Promise<{ requests: MeasuredGroup[]; errors: MeasuredGroup[] }> {
  const requests = new Map<string, MeasuredGroup>();
  const errors = new Map<string, MeasuredGroup>();
  for await (const { labels, succeeded, failed } of yielding(series)) {
    const target = { [CONNECTION_ID]: labels.connectionId, [TOOL_NAME]: labels.tool ?? '' };
    const failure = { ...target, [STATUS]: 'error' };
    if (succeeded.count > 0) addTo(requests, { ...target, [STATUS]: 'success' }, succeeded);
    addTo(errors, failure, new DurationHistogram());
    for (const histogram of failed.values()) {
      addTo(requests, failure, histogram);
      addTo(errors, failure, histogram);
    }
  }
  return { requests: [...requests.values()], errors: [...errors.values()] };
}

/** Grouped as in the MCP convention: by method, tool and error. */
async function operations(series: readonly CallSeries[]): Promise<MeasuredGroup[]> {
  const groups = new Map<string, MeasuredGroup>();
  for await (const { labels, succeeded, failed } of yielding(series)) {
    const operation = {
      [MCP_METHOD_NAME]: labels.method,
      ...(labels.tool !== undefined && { [GEN_AI_TOOL_NAME]: labels.tool, [GEN_AI_OPERATION_NAME]: EXECUTE_TOOL }),
    };
    if (succeeded.count > 0) addTo(groups, operation, succeeded);
    for (const [type, histogram] of failed) addTo(groups, { ...operation, [ERROR_TYPE]: type }, histogram);
  }
  return [...groups.values()];
}

/** Yields to other work between series, of which there can be thousands. */
async function* yielding(series: readonly CallSeries[]): AsyncGenerator<CallSeries> {
  for (let index = 0; index < series.length; index++) {
    if (index % SERIES_PER_TURN === SERIES_PER_TURN - 1) await nextTurn();
    yield series[index]!;
  }
}

function addTo(groups: Map<string, MeasuredGroup>, attributes: Attributes, histogram: DurationHistogram): void {
  const key = JSON.stringify(attributes);
  let group = groups.get(key);
  if (group === undefined) {
    group = { attributes, histogram: new DurationHistogram() };
    groups.set(key, group);
  }
  group.histogram.add(histogram);
}
