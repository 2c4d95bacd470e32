import { type MetricProducer, type MetricReader, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import type { OtlpMetrics } from '../config/settings.js';

/** Each is loaded only if it is asked for. Endpoint, headers and the rest they read from the `OTEL_EXPORTER_OTLP_*` variables. */
const EXPORTERS = {
  grpc: () => import('@opentelemetry/exporter-metrics-otlp-grpc'),
  'http/json': () => import('@opentelemetry/exporter-metrics-otlp-http'),
  'http/protobuf': () => import('@opentelemetry/exporter-metrics-otlp-proto'),
};

/** Pushes the metrics to an OTLP collector from time to time, and once more when it is shut down. */
export async function otlpMetricReader(
  { protocol, intervalMs, timeoutMs }: OtlpMetrics,
  producer: MetricProducer,
): Promise<MetricReader> {
  const { OTLPMetricExporter } = await EXPORTERS[protocol]();
  return new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(timeoutMs, intervalMs),
    metricProducers: [producer],
  });
}
