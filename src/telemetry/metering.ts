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
import type { Settings, OtlpMetrics } from '../config/settings.js';
import { SCOPE_NAME } from './names.js';
import { serviceResource } from './resource.js';

/** Each is loaded only if it is asked for. Endpoint, headers and the rest they read from the `OTEL_EXPORTER_OTLP_*` variables. */
const EXPORTERS = {
  grpc: () => import('@opentelemetry/exporter-metrics-otlp-grpc'),
  'http/json': () => import('@opentelemetry/exporter-metrics-otlp-http'),
  'http/protobuf': () => import('@opentelemetry/exporter-metrics-otlp-proto'),
};

/** Collects when it is asked to. */
class ScrapeReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** What the ledgers of the application add to the SDK's own instruments. Readers take their producers when they are made, ledgers come later. */
class LedgerMetrics implements MetricProducer {
  private readonly ledgers: MetricProducer[] = [];

  add(ledger: MetricProducer): void {
    this.ledgers.push(ledger);
  }

  async collect(): Promise<CollectionResult> {
    const results = await Promise.all(this.ledgers.map((ledger) => ledger.collect()));
    return {
      // The reader takes its own resource.
      resourceMetrics: {
        resource: emptyResource(),
        scopeMetrics: results.flatMap(({ resourceMetrics }) => resourceMetrics.scopeMetrics),
      },
      errors: results.flatMap(({ errors }) => errors),
    };
  }
}

/** The source of metrics and their readers: `/metrics` if it has a port, and OTLP where the standard `OTEL_*` variables ask for it. */
export class Metering {
  private constructor(
    /** Without a reader its instruments do nothing. */
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
    // A provider that was registered before (a preloaded auto-instrumentation) is left alone.
    const isGlobal = global && metrics.setGlobalMeterProvider(provider);
    return new Metering(provider.getMeter(SCOPE_NAME), ledgers, scrape, async () => {
      if (isGlobal) metrics.disable();
      await provider.shutdown();
    });
  }

  /** Can the metrics be read with `read`? */
  get isReadable(): boolean {
    return this.scrape !== undefined;
  }

  /** Every reader gets the metrics of this ledger too. */
  add(ledger: MetricProducer): void {
    this.ledgers.add(ledger);
  }

  /** @throws Error unless `isReadable` */
  async read(): Promise<ResourceMetrics> {
    if (this.scrape === undefined) throw new Error('No reader of metrics is open.');
    return (await this.scrape.collect()).resourceMetrics;
  }

  /** Exports once more. */
  shutdown(): Promise<void> {
    return this.end();
  }
}

/** Pushes the metrics to an OTLP collector from time to time, and once more when it is shut down. */
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
