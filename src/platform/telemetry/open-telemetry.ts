import type { Settings } from '../../core/config/settings.js';
import { Metering } from './metering.js';
import { Tracing } from './tracing.js';

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
