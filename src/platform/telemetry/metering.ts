import { createNoopMeter, type Meter, metrics } from '@opentelemetry/api';
import { emptyResource } from '@opentelemetry/resources';
import {
  type CollectionResult,
  MeterProvider,
  type MetricProducer,
  MetricReader,
  type ResourceMetrics,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import type { Settings, OtlpMetrics } from '../../core/config/settings.js';
import { SCOPE_NAME } from './names.js';
import { serviceResource } from './resource.js';

/**
 * Each exporter is loaded only if it is configured. It reads its endpoint, headers and other options from the
 * `OTEL_EXPORTER_OTLP_*` variables.
 */
const EXPORTERS = {
  grpc: () => import('@opentelemetry/exporter-metrics-otlp-grpc'),
  'http/json': () => import('@opentelemetry/exporter-metrics-otlp-http'),
  'http/protobuf': () => import('@opentelemetry/exporter-metrics-otlp-proto'),
};

/** Collects on demand. */
class ScrapeReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/**
 * Adds the ledgers of the application to the SDK's own instruments. Readers take their producers when they are created;
 * ledgers register later.
 */
class LedgerMetrics implements MetricProducer {
  private readonly ledgers: MetricProducer[] = [];

  add(ledger: MetricProducer): void {
    this.ledgers.push(ledger);
  }

  async collect(): Promise<CollectionResult> {
    const results = await Promise.all(this.ledgers.map((ledger) => ledger.collect()));
    return {
      // The reader uses its own resource.
      resourceMetrics: {
        resource: emptyResource(),
        scopeMetrics: results.flatMap(({ resourceMetrics }) => resourceMetrics.scopeMetrics),
      },
      errors: results.flatMap(({ errors }) => errors),
    };
  }
}

/**
 * The source of metrics and their readers: `/metrics` if it has a port, and OTLP if the standard `OTEL_*` variables
 * enable it.
 */
export class Metering {
  private constructor(
    /** Without a reader, its instruments have no effect. */
    readonly meter: Meter,
    private readonly ledgers: LedgerMetrics,
    private readonly scrape: MetricReader | undefined,
    private readonly end: () => Promise<void>,
  ) {}

  static async open(
    { metricsPort, exportMetrics }: Settings,
    { global }: { readonly global: boolean },
  ): Promise<Metering> {
    const ledgers = new LedgerMetrics();
    const scrape = metricsPort === undefined ? undefined : new ScrapeReader({ metricProducers: [ledgers] });
    const push = exportMetrics && (await otlpMetricReader(exportMetrics, ledgers));
    const readers = [scrape, push].filter((reader) => reader !== undefined);
    if (readers.length === 0) return new Metering(createNoopMeter(), ledgers, undefined, async () => undefined);
    const provider = new MeterProvider({ resource: serviceResource(), readers });
    // Keeps a provider that is already registered (a preloaded auto-instrumentation).
    const isGlobal = global && metrics.setGlobalMeterProvider(provider);
    return new Metering(provider.getMeter(SCOPE_NAME), ledgers, scrape, async () => {
      if (isGlobal) metrics.disable();
      await provider.shutdown();
    });
  }

  /** True if `read` returns the metrics. */
  get isReadable(): boolean {
    return this.scrape !== undefined;
  }

  /** Adds the metrics of a ledger to every reader. */
  add(ledger: MetricProducer): void {
    this.ledgers.add(ledger);
  }

  /** @throws Error unless `isReadable` */
  async read(): Promise<ResourceMetrics> {
    if (this.scrape === undefined) throw new Error('No metric reader is open.');
    return (await this.scrape.collect()).resourceMetrics;
  }

  /** Exports the metrics a last time. */
  shutdown(): Promise<void> {
    return this.end();
  }
}

/** Pushes the metrics to an OTLP collector at an interval and at shutdown. */
async function otlpMetricReader(
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
