import type { Attributes } from '@opentelemetry/api';
import { DataPointType, type Histogram, type MetricData } from '@opentelemetry/sdk-metrics';

type Value = number | Histogram;
type Point = MetricData['dataPoints'][number] & { readonly value: Value };

/**
 * The metrics of several processes as those of one service. Sums and histograms are added. A gauge is a value that
 * every process reports of the whole service, such as the length of the queue: the largest one counts.
 */
export function mergeMetrics(parts: readonly (readonly MetricData[])[]): MetricData[] {
  const groups = Map.groupBy(parts.flat(), ({ descriptor }) => descriptor.name);
  return [...groups.values()].flatMap(([first, ...others]) => (first === undefined ? [] : [mergeOne(first, others)]));
}

/** The metrics that only grow. They stay in the total of a service when their process has ended. */
export function growingMetrics(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(
    (metric) =>
      metric.dataPointType === DataPointType.HISTOGRAM ||
      (metric.dataPointType === DataPointType.SUM && metric.isMonotonic),
  );
}

function mergeOne(first: MetricData, others: readonly MetricData[]): MetricData {
  if (others.length === 0) return first;
  const add = first.dataPointType === DataPointType.GAUGE ? largest : sum;
  const points = new Map<string, Point>();
  for (const point of [first, ...others].flatMap(({ dataPoints }) => dataPoints as Point[])) {
    const key = keyOf(point.attributes);
    const known = points.get(key);
    points.set(key, known === undefined ? point : ({ ...known, value: add(known.value, point.value) } as Point));
  }
  return { ...first, dataPoints: [...points.values()] } as MetricData;
}

function sum(a: Value, b: Value): Value {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) + Number(b);
  const counts = a.buckets.counts.map((count, bucket) => count + (b.buckets.counts[bucket] ?? 0));
  return { buckets: { ...a.buckets, counts }, count: a.count + b.count, sum: (a.sum ?? 0) + (b.sum ?? 0) };
}

function largest(a: Value, b: Value): Value {
  return Math.max(Number(a), Number(b));
}

/** Independent of the order in which a process names attributes. */
function keyOf(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
}
