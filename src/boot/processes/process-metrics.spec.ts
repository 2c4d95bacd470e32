import { describe, expect, it } from '@jest/globals';
import { MeterProvider, type MetricData, MetricReader } from '@opentelemetry/sdk-metrics';
import type { Meter } from '@opentelemetry/api';
import { growingMetrics, mergeMetrics } from './process-metrics.js';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** What a process reads after it has measured this, as the supervisor receives it. */
async function metricsOf(measure: (meter: Meter) => void): Promise<MetricData[]> {
  const reader = new Reader();
  measure(new MeterProvider({ readers: [reader] }).getMeter('test'));
  const { resourceMetrics } = await reader.collect();
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  return JSON.parse(JSON.stringify(metrics)) as MetricData[];
}

/** The values by name and attributes; of a histogram its counts, count and sum. */
function valuesOf(metrics: readonly MetricData[]): Record<string, unknown> {
  const values = metrics.flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => {
      const shown =
        typeof value === 'number' ? value : 'buckets' in value && [value.buckets.counts, value.count, value.sum];
      return [`${descriptor.name} ${Object.values(attributes).join()}`.trim(), shown] as const;
    }),
  );
  return Object.fromEntries(values);
}

const measured = (factor: number, tool: string) =>
  metricsOf((meter) => {
    const calls = meter.createCounter('calls');
    calls.add(factor, { tool: 'a', status: 'ok' });
    calls.add(1, { status: 'ok', tool });
    meter.createUpDownCounter('open').add(factor);
    meter.createObservableGauge('queue').addCallback((result) => result.observe(factor));
    const seconds = meter.createHistogram('seconds', { advice: { explicitBucketBoundaries: [1, 10] } });
    seconds.record(factor);
    seconds.record(100);
  });

describe('metrics of several processes', () => {
  it('are added, by attributes; of gauges the largest value counts', async () => {
    const merged = mergeMetrics([await measured(5, 'b'), await measured(0.5, 'c')]);
    expect(valuesOf(merged)).toEqual({
      'calls a,ok': 5.5,
      'calls ok,b': 1,
      'calls ok,c': 1,
      open: 5.5,
      queue: 5,
      seconds: [[1, 1, 2], 4, 205.5],
    });
  });

  it('of a process that has ended are those that only grow', async () => {
    const ended = growingMetrics(await measured(5, 'a'));
    expect(ended.map(({ descriptor }) => descriptor.name)).toEqual(['calls', 'seconds']);
    const now = mergeMetrics([ended, await measured(1, 'a')]);
    expect(valuesOf(now)).toMatchObject({ 'calls a,ok': 8, open: 1, queue: 1, seconds: [[1, 1, 2], 4, 206] });
  });
});
