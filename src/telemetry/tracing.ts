import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { context, logs, ProxyTracerProvider, trace, type Tracer } from '@opentelemetry/api';
import type { NodeSDK } from '@opentelemetry/sdk-node';
import { AppConfig } from '../config/app-config.js';
import { withinShutdown } from './within-shutdown.js';
import { SCOPE_NAME } from './names.js';
import { serviceResource } from './resource.js';

/**
 * The source of spans, if the standard `OTEL_*` variables ask for traces. The SDK, with its exporter, sampler and limits,
 * configures itself from them, and is loaded only then.
 *
 * The application owns its provider. `NodeSDK` can only register it globally, so the global places are lent to it for
 * one synchronous step and given back: several applications in one process do not meet there. A provider that was
 * registered before (a preloaded auto-instrumentation) is used instead, and left alone.
 */
@Injectable()
export class Tracing implements OnModuleInit, OnApplicationShutdown {
  private readonly logger = new Logger(Tracing.name);
  private sdk: NodeSDK | undefined;

  /** Undefined: nobody asked for traces. */
  tracer: Tracer | undefined;

  constructor(private readonly config: AppConfig) {}

  async onModuleInit(): Promise<void> {
    const preloaded = registeredTracer();
    if (preloaded !== undefined) {
      this.tracer = preloaded;
      return;
    }
    if (!this.config.settings.exportTraces) return;
    const { NodeSDK } = await import('@opentelemetry/sdk-node');
    this.sdk = new NodeSDK({
      resource: serviceResource(),
      autoDetectResources: false,
      metricReaders: [],
      logRecordProcessors: [],
      textMapPropagator: null,
    });
    this.sdk.start();
    this.tracer = registeredTracer();
    trace.disable();
    context.disable();
    logs.disable();
    if (this.tracer === undefined) this.logger.warn('OTEL_TRACES_EXPORTER names no exporter that exists: no traces.');
  }

  async onApplicationShutdown(): Promise<void> {
    this.tracer = undefined;
    if (this.sdk !== undefined) await withinShutdown(this.sdk.shutdown(), this.logger);
  }
}

function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider();
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(SCOPE_NAME) : undefined;
}
