import { Injectable } from '@nestjs/common';
import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CallLedger } from './call-ledger.js';
import type { CallSeries } from './call-series.js';
import { DURATION_BOUNDARIES, DurationHistogram } from './duration-histogram.js';
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
  SCOPE_NAME,
  STATUS,
  STREAMABLE_PROXY_METRICS,
  TOOL_NAME,
} from './names.js';

/** The MCP convention's buckets begin at 10 ms; ours contain them. */
const FIRST_MCP_BOUNDARY = DURATION_BOUNDARIES.indexOf(0.01);

const SERIES_PER_TURN = 100;

interface Group {
  readonly attributes: Attributes;
  readonly histogram: DurationHistogram;
}

/**
 * The metrics of proxied requests, derived from the ledger whenever somebody reads them. Requests, errors and durations
 * come from the same counts, so that they never contradict each other. Always cumulative since the start.
 */
@Injectable()
export class ProxyMetrics implements MetricProducer {
  private readonly startTime = hrTime(Date.now());

  constructor(private readonly ledger: CallLedger) {}

  async collect(): Promise<CollectionResult> {
    const endTime = hrTime(Date.now());
    const { series } = this.ledger;
    const metrics = [
      ...(await this.proxyMetrics(
        PROXY_METRICS,
        series.filter((one) => !one.labels.streamable),
        endTime,
      )),
      ...(await this.proxyMetrics(
        STREAMABLE_PROXY_METRICS,
        series.filter((one) => one.labels.streamable),
        endTime,
      )),
      this.histogramOf(
        MCP_SERVER_OPERATION_DURATION,
        'How long MCP requests and notifications took, from their receipt to their answer.',
        await operations(series),
        endTime,
        FIRST_MCP_BOUNDARY,
      ),
    ].filter((metric) => metric.dataPoints.length > 0);
    // The reader takes its own resource.
    return {
      resourceMetrics: { resource: emptyResource(), scopeMetrics: [{ scope: { name: SCOPE_NAME }, metrics }] },
      errors: [],
    };
  }

  private async proxyMetrics(
    names: ProxyMetricNames,
    series: readonly CallSeries[],
    endTime: HrTime,
  ): Promise<MetricData[]> {
    const { requests, errors } = await proxied(series);
    return [
      this.histogramOf(names.duration, 'How long proxied requests took.', requests, endTime),
      this.counterOf(names.requests, 'Proxied requests.', requests, endTime),
      this.counterOf(names.errors, 'Proxied requests that failed.', errors, endTime),
    ];
  }

  private histogramOf(
    name: string,
    description: string,
    groups: readonly Group[],
    endTime: HrTime,
    firstBoundary = 0,
  ): MetricData {
    return {
      descriptor: { name, description, unit: 's', valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: groups.map(({ attributes, histogram }) => ({
        startTime: this.startTime,
        endTime,
        attributes,
        value: {
          buckets: {
            boundaries: DURATION_BOUNDARIES.slice(firstBoundary),
            counts: withoutFinest(histogram.bucketCounts, firstBoundary),
          },
          count: histogram.count,
          sum: histogram.sum,
        },
      })),
    };
  }

  private counterOf(name: string, description: string, groups: readonly Group[], endTime: HrTime): MetricData {
    return {
      descriptor: { name, description, unit: '', valueType: ValueType.INT },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.SUM,
      isMonotonic: true,
      dataPoints: groups.map(({ attributes, histogram }) => ({
        startTime: this.startTime,
        endTime,
        attributes,
        value: histogram.count,
      })),
    };
  }
}

/** By connection, tool and status. Errors are listed from zero on, so that a first error is a rise and not a beginning. */
async function proxied(series: readonly CallSeries[]): Promise<{ requests: Group[]; errors: Group[] }> {
  const requests = new Map<string, Group>();
  const errors = new Map<string, Group>();
  for await (const { labels, succeeded, failed } of inTurns(series)) {
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

/** As the MCP convention groups them: by method, tool and error. */
async function operations(series: readonly CallSeries[]): Promise<Group[]> {
  const groups = new Map<string, Group>();
  for await (const { labels, succeeded, failed } of inTurns(series)) {
    const operation = {
      [MCP_METHOD_NAME]: labels.method,
      ...(labels.tool !== undefined && { [GEN_AI_TOOL_NAME]: labels.tool, [GEN_AI_OPERATION_NAME]: EXECUTE_TOOL }),
    };
    if (succeeded.count > 0) addTo(groups, operation, succeeded);
    for (const [type, histogram] of failed) addTo(groups, { ...operation, [ERROR_TYPE]: type }, histogram);
  }
  return [...groups.values()];
}

/** With thousands of series, other work has its turn between them. */
async function* inTurns(series: readonly CallSeries[]): AsyncGenerator<CallSeries> {
  for (let index = 0; index < series.length; index++) {
    if (index % SERIES_PER_TURN === SERIES_PER_TURN - 1) await nextTurn();
    yield series[index]!;
  }
}

function addTo(groups: Map<string, Group>, attributes: Attributes, histogram: DurationHistogram): void {
  const key = JSON.stringify(attributes);
  let group = groups.get(key);
  if (group === undefined) {
    group = { attributes, histogram: new DurationHistogram() };
    groups.set(key, group);
  }
  group.histogram.add(histogram);
}

/** Everything up to the first boundary in one bucket. */
function withoutFinest(counts: readonly number[], firstBoundary: number): number[] {
  const finest = counts.slice(0, firstBoundary + 1).reduce((sum, count) => sum + count, 0);
  return [finest, ...counts.slice(firstBoundary + 1)];
}

function hrTime(ms: number): HrTime {
  return [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000];
}
