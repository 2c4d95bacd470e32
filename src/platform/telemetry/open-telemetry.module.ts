import { type DynamicModule, Module, type NestModule, type Type } from '@nestjs/common';
import { OpenTelemetryModule as NestOtelModule } from 'nestjs-otel';
import { AppConfig } from '../../core/config/app-config.js';
import { Metering, OpenTelemetry, Tracing } from './open-telemetry.js';

/**
 * Makes the providers of the application injectable everywhere, as well as `MetricService` and `TraceService` of
 * `nestjs-otel`.
 */
@Module({})
export class OpenTelemetryModule {
  /** @param opened the providers of a service that has its own process; any other application opens its own */
  static forRoot(opened?: OpenTelemetry): DynamicModule {
    return {
      module: OpenTelemetryModule,
      global: true,
      imports: [nestOtel()],
      providers: [
        {
          provide: OpenTelemetry,
          inject: [AppConfig],
          useFactory: ({ settings }: AppConfig) => opened ?? OpenTelemetry.open(settings, { global: false }),
        },
        { provide: Metering, inject: [OpenTelemetry], useFactory: ({ metering }: OpenTelemetry) => metering },
        { provide: Tracing, inject: [OpenTelemetry], useFactory: ({ tracing }: OpenTelemetry) => tracing },
      ],
      exports: [OpenTelemetry, Metering, Tracing],
    };
  }
}

/**
 * `nestjs-otel` without its middleware, which only serves its "wide events": a single middleware adds a look-up to
 * every request, proxied ones included (`HttpAdapter`). A module that needs wide events applies `WideEventMiddleware`
 * to its own routes.
 */
function nestOtel(): DynamicModule {
  const { imports = [], ...rest } = NestOtelModule.forRoot();
  return { ...rest, imports: imports.map((core) => withoutMiddleware(core as DynamicModule)) };
}

function withoutMiddleware({ module, ...rest }: DynamicModule): DynamicModule {
  class CoreWithoutMiddleware extends (module as Type<NestModule>) {
    override configure(): void {}
  }
  return { ...rest, module: CoreWithoutMiddleware };
}
