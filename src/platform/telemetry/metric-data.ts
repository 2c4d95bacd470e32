import { type Attributes, type HrTime, ValueType } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { DURATION_BOUNDARIES, type DurationHistogram } from './duration-histogram.js';
import { SCOPE_NAME } from './names.js';

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

/** The name and description of a metric. */
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
