import { describe, expect, it } from '@jest/globals';
import { DataPointType, type MetricData } from '@opentelemetry/sdk-metrics';
import { CallLedger, ProxyMetrics, MAX_SERIES } from './proxy-metrics.js';

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

const CONNECTION = 'c1';

function fill(ledger: CallLedger): void {
  for (let tool = 0; tool < MAX_SERIES; tool++) ledger.seriesOf(CONNECTION, 'tools/call', `tool-${tool}`, false);
}

describe('CallLedger', () => {
  it('returns the same series for the same labels, and separate ones for each endpoint, tool and connection', () => {
    const ledger = new CallLedger();
    const series = ledger.seriesOf(CONNECTION, 'tools/call', 'echo', false);
    const others = [
      ledger.seriesOf(CONNECTION, 'tools/call', 'echo', true),
      ledger.seriesOf(CONNECTION, 'tools/call', 'add', false),
      ledger.seriesOf('c2', 'tools/call', 'echo', false),
      ledger.seriesOf(CONNECTION, 'tools/list', '', false),
    ];

    expect(ledger.seriesOf(CONNECTION, 'tools/call', 'echo', false)).toBe(series);
    expect(new Set([series, ...others]).size).toBe(5);
    expect(ledger.series).toHaveLength(5);
  });

  it('separates a tool from a method with the same name', () => {
    const ledger = new CallLedger();
    const tool = ledger.seriesOf(CONNECTION, 'tools/call', 'tools/list', false);
    const method = ledger.seriesOf(CONNECTION, 'tools/list', '', false);

    expect(tool.labels).toMatchObject({ tool: 'tools/list', method: 'tools/call' });
    expect(method.labels).toMatchObject({ tool: undefined, method: 'tools/list' });
  });

  it.each(['rubbish', '__proto__', 'constructor', ''])('counts the unknown method %j as _OTHER', (method) => {
    const ledger = new CallLedger();

    expect(ledger.seriesOf(CONNECTION, method, '', false).labels.method).toBe('_OTHER');
    expect(ledger.seriesOf(CONNECTION, `${method}2`, '', false)).toBe(ledger.series[0]);
  });

  it('counts new tools as `other` when it is full, and keeps existing series', () => {
    const ledger = new CallLedger();
    fill(ledger);
    const late = ledger.seriesOf(CONNECTION, 'tools/call', 'late', false);

    expect(late.labels).toMatchObject({ connectionId: CONNECTION, tool: 'other' });
    expect(ledger.seriesOf(CONNECTION, 'tools/call', 'later', false)).toBe(late);
    expect(ledger.seriesOf(CONNECTION, 'tools/call', 'tool-7', false).labels.tool).toBe('tool-7');
  });

  it('stays bounded for any connections, tools and methods', () => {
    const ledger = new CallLedger();
    fill(ledger);
    for (let index = 0; index < 3 * MAX_SERIES; index++) {
      ledger.seriesOf(`connection-${index}`, 'tools/call', `tool-${index}`, index % 2 === 0);
      ledger.seriesOf(`connection-${index}`, `method-${index}`, '', false);
    }
    const late = ledger.series.slice(MAX_SERIES).map(({ labels }) => labels);

    expect(late).toEqual([
      { connectionId: 'other', tool: 'other', method: 'tools/call', streamable: true },
      { connectionId: 'other', tool: undefined, method: '_OTHER', streamable: false },
      { connectionId: 'other', tool: 'other', method: 'tools/call', streamable: false },
    ]);
  });

  it('truncates a name that is too long for a label', () => {
    const ledger = new CallLedger();
    const long = 'x'.repeat(10_000);

    expect(ledger.seriesOf(CONNECTION, 'tools/call', long, false).labels.tool).toHaveLength(128);
    expect(ledger.seriesOf(CONNECTION, 'tools/call', `${long}y`, false)).toBe(ledger.series[0]);
  });

  it('stays bounded for invented error types', () => {
    const series = new CallLedger().seriesOf(CONNECTION, 'tools/call', 'echo', false);
    for (let index = 0; index < 1000; index++) series.recordError(1, `error_${index}`);
    series.recordError(1, 'not a word\n');

    expect(series.failed.size).toBe(101);
    expect(series.failed.get('_OTHER')?.count).toBe(901);
  });
});
