import {
  createNoopMeter,
  type Meter,
  metrics,
  context,
  logs,
  ProxyTracerProvider,
  trace,
  type Tracer,
} from '@opentelemetry/api';
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

/** How the providers of an application are opened. */
interface OpenOptions {
  /**
   * Registers them globally, so that `MetricService`, `@Span` and every other user of the OpenTelemetry API reach the
   * same readers and exporters. Only for an application that has its own process; others do not register theirs.
   */
  readonly global: boolean;
}

/** The OpenTelemetry providers of one application. */
export class OpenTelemetry {
  private constructor(
    readonly metering: Metering,
    readonly tracing: Tracing,
  ) {}

  /**
   * Opens the providers that the settings enable. Open global ones before modules are loaded: instruments that are
   * created earlier have no effect.
   */
  static async open(settings: Settings, options: OpenOptions): Promise<OpenTelemetry> {
    const [metering, tracing] = await Promise.all([Metering.open(settings, options), Tracing.open(settings, options)]);
    return new OpenTelemetry(metering, tracing);
  }

  /** Exports the remaining data. Rejects if an export fails; it is not retried. */
  async shutdown(): Promise<void> {
    const outcomes = await Promise.allSettled([this.metering.shutdown(), this.tracing.shutdown()]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}

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

/**
 * The source of spans, if the standard `OTEL_*` variables enable tracing. Only then is the SDK loaded; it takes its
 * exporter, sampler and limits from these variables.
 *
 * `NodeSDK` can only register its provider globally. A service that has its own process keeps the registration.
 * Otherwise it is undone in the same synchronous step, so that several applications can share a process. A provider
 * that is already registered (a preloaded auto-instrumentation) is used instead and not changed.
 */
export class Tracing {
  private constructor(
    private current: Tracer | undefined,
    private readonly end: () => Promise<void>,
  ) {}

  /** @returns without a tracer if `OTEL_TRACES_EXPORTER` names an unknown exporter */
  static async open({ exportTraces }: Settings, { global }: { readonly global: boolean }): Promise<Tracing> {
    const preloaded = registeredTracer();
    if (preloaded !== undefined || !exportTraces) return new Tracing(preloaded, async () => undefined);
    const { NodeSDK } = await import('@opentelemetry/sdk-node');
    const sdk = new NodeSDK({
      resource: serviceResource(),
      autoDetectResources: false,
      metricReaders: [],
      logRecordProcessors: [],
      textMapPropagator: null,
    });
    sdk.start();
    const tracer = registeredTracer();
    if (!global) unregister();
    return new Tracing(tracer, async () => {
      if (global) unregister();
      await sdk.shutdown();
    });
  }

  /** Undefined if tracing is disabled. */
  get tracer(): Tracer | undefined {
    return this.current;
  }

  /** Exports the remaining spans. Spans that start later are dropped. */
  async shutdown(): Promise<void> {
    this.current = undefined;
    await this.end();
  }
}

function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(SCOPE_NAME) : undefined;
}

function unregister(): void {
  trace.disable();
  context.disable();
  logs.disable();
}
