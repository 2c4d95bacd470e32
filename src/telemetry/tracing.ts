import { context, logs, ProxyTracerProvider, trace, type Tracer } from '@opentelemetry/api';
import type { Settings } from '../config/settings.js';
import { SCOPE_NAME } from './names.js';
import { serviceResource } from './resource.js';

/**
 * The source of spans, if the standard `OTEL_*` variables ask for traces. The SDK, with its exporter, sampler and limits,
 * configures itself from them, and is loaded only then.
 *
 * `NodeSDK` can only register its provider globally. A service that is started for itself leaves it there. Otherwise the global
 * places are lent to it for one synchronous step and given back, so that several applications in one process do not meet there.
 * A provider that was registered before (a preloaded auto-instrumentation) is used instead, and left alone.
 */
export class Tracing {
  private constructor(
    private current: Tracer | undefined,
    private readonly end: () => Promise<void>,
  ) {}

  /** @returns without a tracer if `OTEL_TRACES_EXPORTER` names no exporter that exists */
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
    if (!global) giveBack();
    return new Tracing(tracer, async () => {
      if (global) giveBack();
      await sdk.shutdown();
    });
  }

  /** Undefined: nobody asked for traces. */
  get tracer(): Tracer | undefined {
    return this.current;
  }

  /** Exports what is left. Spans that begin later are dropped. */
  async shutdown(): Promise<void> {
    this.current = undefined;
    await this.end();
  }
}

function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(SCOPE_NAME) : undefined;
}

function giveBack(): void {
  trace.disable();
  context.disable();
  logs.disable();
}
