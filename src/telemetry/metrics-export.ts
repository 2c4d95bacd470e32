import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { Metering } from './metering.js';
import { MetricsServer } from './metrics-server.js';
import { OpenTelemetry } from './open-telemetry.js';
import { prometheusText } from './prometheus-text.js';
import { ProxyMetrics } from './proxy-metrics.js';
import { UnavailableLedger } from './unavailable-ledger.js';
import type { Meter } from '@opentelemetry/api';
import { performance } from 'node:perf_hooks';
import { CPU_MODE, EVENT_LOOP_STATE, EVENT_LOOP_TIME, PROCESS_CPU_TIME, PROCESS_MEMORY_USAGE } from './names.js';
import { withTimeout } from '../common/with-timeout.js';

/** A collector that is away must not hold up the stop of the service. */
const FLUSH_MS = 2000;

/**
 * Gives the metrics away: as Prometheus text on `METRICS_HOST:METRICS_PORT`, and to an OTLP collector where the standard
 * `OTEL_*` variables ask for it; at the end it flushes both metrics and traces.
 *
 * Metrics are an aid: a port that cannot be had is said in one line, and the process goes on without. So a worker may
 * start beside an api process with the same settings.
 */
@Injectable()
export class MetricsExport implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(MetricsExport.name);
  private server: MetricsServer | undefined;

  constructor(
    private readonly config: AppConfig,
    private readonly telemetry: OpenTelemetry,
    private readonly metering: Metering,
    private readonly proxyMetrics: ProxyMetrics,
    private readonly unavailable: UnavailableLedger,
  ) {}

  /** Where the metrics can be read; undefined if nowhere. */
  get url(): string | undefined {
    return this.server?.url;
  }

  async onModuleInit(): Promise<void> {
    const { metricsHost, metricsPort, metricsAllowedHosts, exportTraces } = this.config.settings;
    if (exportTraces && this.telemetry.tracing.tracer === undefined) {
      this.logger.warn('OTEL_TRACES_EXPORTER names no exporter that exists: no traces.');
    }
    this.metering.add(this.proxyMetrics);
    observeProcess(this.metering.meter);
    this.unavailable.observe(this.metering.meter);
    if (metricsPort !== undefined && this.metering.isReadable) {
      await this.serve(metricsHost, metricsPort, metricsAllowedHosts);
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
    await withinShutdown(this.telemetry.shutdown(), this.logger);
  }

  private async serve(host: string, port: number, names: readonly string[]): Promise<void> {
    try {
      this.server = await MetricsServer.listen(host, port, names, async () =>
        prometheusText(await this.metering.read()),
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

/** The state of this process, read when somebody asks: CPU time, memory, and how busy the event loop was. */
export function observeProcess(meter: Meter): void {
  meter
    .createObservableCounter(PROCESS_CPU_TIME, { unit: 's', description: 'CPU time of this process.' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage();
      result.observe(user / 1_000_000, { [CPU_MODE]: 'user' });
      result.observe(system / 1_000_000, { [CPU_MODE]: 'system' });
    });
  meter
    .createObservableUpDownCounter(PROCESS_MEMORY_USAGE, {
      unit: 'By',
      description: 'Resident memory of this process.',
    })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
  meter
    .createObservableCounter(EVENT_LOOP_TIME, { unit: 's', description: 'Time of the event loop, active and idle.' })
    .addCallback((result) => {
      const { active, idle } = performance.eventLoopUtilization();
      result.observe(active / 1000, { [EVENT_LOOP_STATE]: 'active' });
      result.observe(idle / 1000, { [EVENT_LOOP_STATE]: 'idle' });
    });
}

/** Waits for the last export, but only so long; what is not sent by then is lost. Never rejects. */
async function withinShutdown(flush: Promise<void>, logger: Logger): Promise<void> {
  const ended = flush.then(
    () => true,
    () => false,
  );
  const isFlushed = await withTimeout(ended, FLUSH_MS, () => false);
  if (!isFlushed) logger.warn('The last telemetry could not be exported: the collector does not answer.');
}
