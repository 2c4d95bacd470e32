import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { AppConfig } from '../config/app-config.js';
import { MetricsServer } from './metrics-server.js';
import { SCOPE_NAME } from './names.js';
import { otlpMetricReader } from './otlp-metric-reader.js';
import { observeProcess } from './process-metrics.js';
import { prometheusText } from './prometheus-text.js';
import { ProxyMetrics } from './proxy-metrics.js';
import { serviceResource } from './resource.js';
import { UnavailableLedger } from './unavailable-ledger.js';
import { withinShutdown } from './within-shutdown.js';

/** Collects when it is asked to. */
class ScrapeReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/**
 * Gives the metrics away: as Prometheus text on `METRICS_HOST:METRICS_PORT`, and to an OTLP collector where the standard
 * `OTEL_*` variables ask for it. The provider is the application's own; nothing global is touched.
 *
 * Metrics are an aid: a port that cannot be had is said in one line, and the process goes on without. So a worker may
 * start beside an api process with the same settings.
 */
@Injectable()
export class MetricsExport implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsExport.name);
  private provider: MeterProvider | undefined;
  private server: MetricsServer | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly proxyMetrics: ProxyMetrics,
    private readonly unavailable: UnavailableLedger,
  ) {}

  /** Where the metrics can be read; undefined if nowhere. */
  get url(): string | undefined {
    return this.server?.url;
  }

  async onModuleInit(): Promise<void> {
    const { metricsHost, metricsPort, metricsAllowedHosts, exportMetrics } = this.config.settings;
    const scrape = metricsPort === undefined ? undefined : new ScrapeReader({ metricProducers: [this.proxyMetrics] });
    const push = exportMetrics && (await otlpMetricReader(exportMetrics, this.proxyMetrics));
    const readers = [scrape, push].filter((reader) => reader !== undefined);
    if (readers.length === 0) return;
    this.provider = new MeterProvider({ resource: serviceResource(), readers });
    const meter = this.provider.getMeter(SCOPE_NAME);
    observeProcess(meter);
    this.unavailable.observe(meter);
    if (scrape !== undefined && metricsPort !== undefined) {
      await this.serve(scrape, metricsHost, metricsPort, metricsAllowedHosts);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
    if (this.provider !== undefined) await withinShutdown(this.provider.shutdown(), this.logger);
    this.provider = undefined;
  }

  private async serve(reader: MetricReader, host: string, port: number, names: readonly string[]): Promise<void> {
    try {
      this.server = await MetricsServer.listen(host, port, names, async () =>
        prometheusText((await reader.collect()).resourceMetrics),
      );
      this.logger.log(`Metrics on ${this.server.url}`);
    } catch (error) {
      const code =
        typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : 'unknown error';
      this.logger.warn(
        `METRICS_PORT ${port} on ${host} cannot be had (${code}), so this process shows no metrics: ` +
          'give each process a METRICS_PORT of its own, 0 for any free one, or `off`.',
      );
    }
  }
}
