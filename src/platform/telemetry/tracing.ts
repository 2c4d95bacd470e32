import { context, logs, ProxyTracerProvider, trace, type Tracer } from '@opentelemetry/api';
import type { Settings } from '../../core/config/settings.js';
import { SCOPE_NAME } from './names.js';
import { serviceResource } from './resource.js';

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
