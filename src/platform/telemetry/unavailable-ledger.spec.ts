import { describe, expect, it } from '@jest/globals';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { MAX_CONNECTIONS, UnavailableLedger } from './unavailable-ledger.js';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** The data points as a metric reader receives them. */
async function read(ledger: UnavailableLedger) {
  const reader = new Reader();
  ledger.observe(new MeterProvider({ readers: [reader] }).getMeter('test'));
  const { resourceMetrics } = await reader.collect();
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  expect(metrics.map(({ descriptor }) => descriptor.name)).toEqual(['mcp.gateway.unavailable']);
  return metrics.flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => ({ ...attributes, value })));
}

describe('UnavailableLedger', () => {
  it('counts by connection and reason', async () => {
    const ledger = new UnavailableLedger();
    ledger.count('c1', 'timeout');
    ledger.count('c1', 'timeout');
    ledger.count('c1', 'unreachable');
    ledger.count('c2', 'timeout');

    expect(await read(ledger)).toEqual([
      { 'connection.id': 'c1', 'error.type': 'timeout', value: 2 },
      { 'connection.id': 'c1', 'error.type': 'unreachable', value: 1 },
      { 'connection.id': 'c2', 'error.type': 'timeout', value: 1 },
    ]);
  });

  it('stays bounded and loses no count', async () => {
    const ledger = new UnavailableLedger();
    for (let index = 0; index < 3 * MAX_CONNECTIONS; index++) ledger.count(`c${index}`, 'timeout');
    ledger.count('c7', 'timeout');
    const points = await read(ledger);

    expect(points).toHaveLength(MAX_CONNECTIONS + 1);
    expect(points.at(-1)).toEqual({ 'connection.id': 'other', 'error.type': 'timeout', value: 2 * MAX_CONNECTIONS });
    expect(points[7]).toMatchObject({ 'connection.id': 'c7', value: 2 });
  });
});
