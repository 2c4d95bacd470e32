import { Injectable } from '@nestjs/common';
import type { Attributes } from '@opentelemetry/api';
import type { CollectionResult, MetricData, MetricProducer } from '@opentelemetry/sdk-metrics';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CallLedger, type CallSeries } from './call-ledger.js';
import { DURATION_BOUNDARIES, DurationHistogram } from './duration-histogram.js';
import { collected, counterOf, histogramOf, hrTime, type MeasuredGroup, type MeasuredTime } from './metric-data.js';
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
} from './names.js';

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
