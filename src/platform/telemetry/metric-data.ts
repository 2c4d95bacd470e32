import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { SCOPE_NAME } from './names.js';

/**
 * Upper bounds of the buckets in seconds, 0.5 ms to 5 min. From 10 ms they match the MCP convention; the finer ones
 * below show the latency that a proxy adds.
 */
export const DURATION_BOUNDARIES = [
  0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
];

/** Durations in seconds, counted in buckets. Counts and sum are exact and only grow. */
export class DurationHistogram {
  readonly bucketCounts: number[] = DURATION_BOUNDARIES.map(() => 0).concat(0);
  count = 0;
  sum = 0;

  record(seconds: number): void {
    // Most calls take milliseconds, so a linear search is faster than a binary one.
    let bucket = 0;
    while (bucket < DURATION_BOUNDARIES.length && seconds > DURATION_BOUNDARIES[bucket]!) bucket++;
    this.bucketCounts[bucket]!++;
    this.count++;
    this.sum += seconds;
  }

  add(other: DurationHistogram): void {
    for (let bucket = 0; bucket < this.bucketCounts.length; bucket++) {
      this.bucketCounts[bucket]! += other.bucketCounts[bucket]!;
    }
    this.count += other.count;
    this.sum += other.sum;
  }
}

/** The measurements with the same attributes. */
export interface MeasuredGroup {
  readonly attributes: Attributes;
  readonly histogram: DurationHistogram;
}

/** The period of the measurements. */
export interface MeasuredTime {
  readonly startTime: HrTime;
  readonly endTime: HrTime;
}

interface NamedMetric {
  readonly name: string;
  readonly description: string;
}

/** @param firstBoundary index in `DURATION_BOUNDARIES`; all values below that boundary share one bucket */
export function histogramOf(
  { name, description }: NamedMetric,
  groups: readonly MeasuredGroup[],
  time: MeasuredTime,
  firstBoundary = 0,
): MetricData {
  return {
    descriptor: { name, description, unit: 's', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.HISTOGRAM,
    dataPoints: groups.map(({ attributes, histogram }) => ({
      ...time,
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

export function counterOf(
  { name, description }: NamedMetric,
  groups: readonly MeasuredGroup[],
  time: MeasuredTime,
): MetricData {
  return {
    descriptor: { name, description, unit: '', valueType: ValueType.INT },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
    dataPointType: DataPointType.SUM,
    isMonotonic: true,
    dataPoints: groups.map(({ attributes, histogram }) => ({ ...time, attributes, value: histogram.count })),
  };
}

/** The metrics in the form that a reader expects, without those that have no data point. */
export function collected(metrics: readonly MetricData[]): CollectionResult {
  // The reader uses its own resource.
  return {
    resourceMetrics: {
      resource: emptyResource(),
      scopeMetrics: [
        { scope: { name: SCOPE_NAME }, metrics: metrics.filter(({ dataPoints }) => dataPoints.length > 0) },
      ],
    },
    errors: [],
  };
}

export function hrTime(ms: number): HrTime {
  return [Math.trunc(ms / 1000), (ms % 1000) * 1_000_000];
}

/** Merges all buckets up to the first boundary. */
function withoutFinest(counts: readonly number[], firstBoundary: number): number[] {
  const finest = counts.slice(0, firstBoundary + 1).reduce((sum, count) => sum + count, 0);
  return [finest, ...counts.slice(firstBoundary + 1)];
}
