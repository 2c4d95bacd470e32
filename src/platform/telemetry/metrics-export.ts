import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { AppConfig } from '../../core/config/app-config.js';
import { Metering, OpenTelemetry } from './open-telemetry.js';
import { MetricsServer } from './metrics-server.js';
import { prometheusText } from './prometheus-text.js';
import { ProxyMetrics } from './proxy-metrics.js';
import { UnavailableLedger } from './unavailable-ledger.js';
import type { Meter } from '@opentelemetry/api';
import { performance } from 'node:perf_hooks';
import { CPU_MODE, EVENT_LOOP_STATE, EVENT_LOOP_TIME, PROCESS_CPU_TIME, PROCESS_MEMORY_USAGE } from './names.js';
import { withTimeout } from '../../core/with-timeout.js';

/** An unavailable collector must not delay the shutdown. */
const FLUSH_MS = 2000;

/**
 * Exports the metrics: as Prometheus text on `METRICS_HOST:METRICS_PORT`, and to an OTLP collector if the standard
 * `OTEL_*` variables enable it. At shutdown it flushes metrics and traces.
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

  /** The URL of the metrics; undefined if they are not served. */
  get url(): string | undefined {
    return this.server?.url;
  }

  async onModuleInit(): Promise<void> {
    const { settings, slot } = this.config;
    if (settings.exportTraces && this.telemetry.tracing.tracer === undefined) {
      this.logger.warn('OTEL_TRACES_EXPORTER names an unknown exporter; traces are disabled.');
    }
    this.metering.add(this.proxyMetrics);
    observeProcess(this.metering.meter);
    this.unavailable.observe(this.metering.meter);
    // The supervisor of several processes serves the metrics of all.
    if (slot !== undefined || !this.metering.isReadable) return;
    const read = async (): Promise<AsyncIterable<string>> => prometheusText(await this.metering.read());
    this.server = await MetricsServer.listenAsConfigured(settings, read, this.logger);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
    await withinShutdown(this.telemetry.shutdown(), this.logger);
  }
}

/** Reports CPU time, memory and event loop utilization of this process whenever metrics are collected. */
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

/** Waits for the last export up to a time limit; data that is not sent by then is lost. Never rejects. */
async function withinShutdown(flush: Promise<void>, logger: Logger): Promise<void> {
  const ended = flush.then(
    () => true,
    () => false,
  );
  const isFlushed = await withTimeout(ended, FLUSH_MS, () => false);
  if (!isFlushed) logger.warn('Cannot export the last telemetry: the collector does not answer.');
}
