import { describe, expect, it } from '@jest/globals';
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { CallLedger, ProxyMetrics } from './proxy-metrics.js';

async function collect(ledger: CallLedger): Promise<Map<string, MetricData>> {
  const { resourceMetrics } = await new ProxyMetrics(ledger).collect();
  return new Map(
    resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics).map((metric) => [metric.descriptor.name, metric]),
  );
}

/** Attributes and value (or count) of each data point. */
function points(metric: MetricData | undefined): unknown[] {
  if (metric === undefined || metric.dataPointType === DataPointType.EXPONENTIAL_HISTOGRAM) return [];
  return metric.dataPoints.map(({ attributes, value }) => [
    attributes,
    typeof value === 'number' ? value : value.count,
  ]);
}

function bucketsOf(metric: MetricData | undefined): Record<string, number> {
  if (metric?.dataPointType !== DataPointType.HISTOGRAM) throw new Error('The metric is not a histogram.');
  const { boundaries, counts } = metric.dataPoints[0]!.value.buckets;
  return Object.fromEntries(
    counts.map((count, index) => [String(boundaries[index] ?? '+Inf'), count]).filter(([, count]) => count !== 0),
  );
}

describe('ProxyMetrics', () => {
  it('reports nothing before the first request', async () => {
    expect((await collect(new CallLedger())).size).toBe(0);
  });

  it('counts by connection, tool and status, separately for the streaming endpoint', async () => {
    const ledger = new CallLedger();
    const echo = ledger.seriesOf('c1', 'tools/call', 'echo', false);
    echo.recordSuccess(0.003);
    echo.recordSuccess(0.003);
    echo.recordError(0.1, 'upstream_timeout');
    echo.recordError(0.1, 'tool_error');
    ledger.seriesOf('c1', 'tools/call', 'echo', true).recordSuccess(7);
    const metrics = await collect(ledger);
    const tool = { 'connection.id': 'c1', 'tool.name': 'echo' };
    const byStatus = [
      [{ ...tool, status: 'success' }, 2],
      [{ ...tool, status: 'error' }, 2],
    ];

    expect(points(metrics.get('connection.proxy.requests'))).toEqual(byStatus);
    expect(points(metrics.get('connection.proxy.duration'))).toEqual(byStatus);
    expect(points(metrics.get('connection.proxy.errors'))).toEqual([[{ ...tool, status: 'error' }, 2]]);
    expect(points(metrics.get('connection.proxy.streamable.requests'))).toEqual([[{ ...tool, status: 'success' }, 1]]);
    expect(points(metrics.get('connection.proxy.streamable.errors'))).toEqual([[{ ...tool, status: 'error' }, 0]]);
    expect(metrics.get('connection.proxy.duration')?.descriptor.unit).toBe('s');
  });

  it('counts operations as the MCP convention does: by method, tool and error, over all connections', async () => {
    const ledger = new CallLedger();
    for (const connection of ['c1', 'c2']) {
      ledger.seriesOf(connection, 'tools/call', 'echo', false).recordSuccess(1);
      ledger.seriesOf(connection, 'tools/list', '', false).recordError(1, 'upstream_timeout');
    }

    expect(points((await collect(ledger)).get('mcp.server.operation.duration'))).toEqual([
      [{ 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': 'echo', 'gen_ai.operation.name': 'execute_tool' }, 2],
      [{ 'mcp.method.name': 'tools/list', 'error.type': 'upstream_timeout' }, 2],
    ]);
  });

  it('puts a duration into the bucket whose bound it does not exceed', async () => {
    const ledger = new CallLedger();
    const series = ledger.seriesOf('c1', 'tools/call', 'echo', false);
    for (const seconds of [0, 0.0005, 0.00051, 0.01, 0.011, 300, 301]) series.recordSuccess(seconds);
    const metrics = await collect(ledger);

    expect(bucketsOf(metrics.get('connection.proxy.duration'))).toEqual({
      '0.0005': 2,
      '0.001': 1,
      '0.01': 1,
      '0.02': 1,
      '300': 1,
      '+Inf': 1,
    });
    // The convention's buckets start at 10 ms.
    expect(bucketsOf(metrics.get('mcp.server.operation.duration'))).toEqual({
      '0.01': 4,
      '0.02': 1,
      '300': 1,
      '+Inf': 1,
    });
  });

  it('reports every call exactly once across many series and readings', async () => {
    const ledger = new CallLedger();
    for (let index = 0; index < 1000; index++) {
      ledger.seriesOf(`c${index % 10}`, 'tools/call', `tool-${index % 300}`, false).recordSuccess(index / 1000);
    }
    await collect(ledger);
    const counts = points((await collect(ledger)).get('connection.proxy.requests')) as [unknown, number][];

    expect(counts).toHaveLength(300);
    expect(counts.reduce((sum, [, count]) => sum + count, 0)).toBe(1000);
  });
});
