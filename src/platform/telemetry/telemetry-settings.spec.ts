import { describe, expect, it } from '@jest/globals';
import { readSettings } from '../../core/config/settings.js';

describe('telemetry settings', () => {
  it('serve metrics on the loopback and export nothing by default', () => {
    expect(readSettings({})).toMatchObject({
      metricsHost: '127.0.0.1',
      metricsPort: 9464,
      exportTraces: false,
      exportMetrics: undefined,
    });
  });

  it('accept a port, any free port, or none', () => {
    expect(readSettings({ METRICS_PORT: '9000' }).metricsPort).toBe(9000);
    expect(readSettings({ METRICS_PORT: '0' }).metricsPort).toBe(0);
    expect(readSettings({ METRICS_PORT: 'off' }).metricsPort).toBeUndefined();
  });

  it.each<[variable: string, env: Record<string, string>]>([
    ['METRICS_PORT', { METRICS_PORT: 'no' }],
    ['METRICS_PORT', { METRICS_PORT: '70000' }],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', { OTEL_EXPORTER_OTLP_PROTOCOL: 'udp', OTEL_METRICS_EXPORTER: 'otlp' }],
    ['OTEL_METRIC_EXPORT_INTERVAL', { OTEL_METRIC_EXPORT_INTERVAL: '0', OTEL_METRICS_EXPORTER: 'otlp' }],
  ])('name %s when it is bad', (variable, env) => {
    expect(() => readSettings(env)).toThrow(new RegExp(`^${variable} must be `));
  });

  const ENDPOINT = 'http://collector:4318';
  it.each<[env: Record<string, string>, traces: boolean, metrics: boolean]>([
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, true, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: ENDPOINT }, true, false],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: ENDPOINT }, false, true],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true, false],
    [{ OTEL_TRACES_EXPORTER: 'console' }, true, false],
    [{ OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, false, true],
    [{ OTEL_METRICS_EXPORTER: 'otlp' }, false, true],
    [{ OTEL_METRICS_EXPORTER: 'prometheus', OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, true, false],
    [{ OTEL_SDK_DISABLED: 'true', OTEL_EXPORTER_OTLP_ENDPOINT: ENDPOINT }, false, false],
  ])('find out from %j what is asked for', (env, traces, metrics) => {
    const settings = readSettings(env);

    expect(settings.exportTraces).toBe(traces);
    expect(settings.exportMetrics !== undefined).toBe(metrics);
  });

  it('accept the protocol and the interval of metrics', () => {
    const env = { OTEL_METRICS_EXPORTER: 'otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };

    expect(readSettings(env).exportMetrics).toEqual({ protocol: 'grpc', intervalMs: 60_000, timeoutMs: 30_000 });
    expect(
      readSettings({
        ...env,
        OTEL_EXPORTER_OTLP_METRICS_PROTOCOL: 'http/json',
        OTEL_METRIC_EXPORT_INTERVAL: '500',
        OTEL_METRIC_EXPORT_TIMEOUT: '200',
      }).exportMetrics,
    ).toEqual({ protocol: 'http/json', intervalMs: 500, timeoutMs: 200 });
  });
});
