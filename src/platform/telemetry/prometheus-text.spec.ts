import { describe, expect, it } from '@jest/globals';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { CallLedger, ProxyMetrics } from './proxy-metrics.js';
import { observeProcess } from './metrics-export.js';
import { prometheusText } from './prometheus-text.js';

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

async function textOf(ledger: CallLedger): Promise<string[]> {
  const reader = new Reader({ metricProducers: [new ProxyMetrics(ledger)] });
  const resource = resourceFromAttributes({ 'service.name': 'test' });
  observeProcess(new MeterProvider({ resource, readers: [reader] }).getMeter('test'));
  const { resourceMetrics } = await reader.collect();
  let text = '';
  for await (const piece of prometheusText(resourceMetrics)) text += piece;
  expect(text.endsWith('\n')).toBe(true);
  return text.trimEnd().split('\n');
}

describe('prometheusText', () => {
  it('writes histograms, counters and gauges under Prometheus names', async () => {
    const ledger = new CallLedger();
    const series = ledger.seriesOf('c1', 'tools/call', 'echo', false);
    series.recordSuccess(0.003);
    series.recordSuccess(2.5);
    const lines = await textOf(ledger);
    const labels = 'connection_id="c1",tool_name="echo",status="success"';

    expect(lines).toEqual(
      expect.arrayContaining([
        'target_info{service_name="test"} 1',
        '# TYPE connection_proxy_duration_seconds histogram',
        `connection_proxy_duration_seconds_bucket{${labels},le="0.002"} 0`,
        `connection_proxy_duration_seconds_bucket{${labels},le="0.005"} 1`,
        `connection_proxy_duration_seconds_bucket{${labels},le="300"} 2`,
        `connection_proxy_duration_seconds_bucket{${labels},le="+Inf"} 2`,
        `connection_proxy_duration_seconds_sum{${labels}} 2.503`,
        `connection_proxy_duration_seconds_count{${labels}} 2`,
        '# TYPE connection_proxy_requests_total counter',
        `connection_proxy_requests_total{${labels}} 2`,
        'connection_proxy_errors_total{connection_id="c1",tool_name="echo",status="error"} 0',
        '# TYPE process_cpu_time_seconds_total counter',
        '# TYPE process_memory_usage_bytes gauge',
        '# TYPE nodejs_eventloop_time_seconds_total counter',
      ]),
    );
  });

  it('escapes tool names, so that they cannot inject lines or labels', async () => {
    const ledger = new CallLedger();
    ledger.seriesOf('c1', 'tools/call', 'x"} 1\ninjected{a="\\', false).recordSuccess(1);
    const lines = await textOf(ledger);

    expect(lines.filter((line) => line.startsWith('injected'))).toEqual([]);
    expect(lines).toContain(
      String.raw`connection_proxy_requests_total{connection_id="c1",tool_name="x\"} 1\ninjected{a=\"\\",status="success"} 1`,
    );
  });

  it('writes each name once for any number of series', async () => {
    const ledger = new CallLedger();
    for (let tool = 0; tool < 120; tool++) ledger.seriesOf('c1', 'tools/call', `tool-${tool}`, false).recordSuccess(1);
    const lines = await textOf(ledger);

    expect(lines.filter((line) => line === '# TYPE connection_proxy_requests_total counter')).toHaveLength(1);
    expect(lines.filter((line) => line.startsWith('connection_proxy_requests_total{'))).toHaveLength(120);
  });
});
