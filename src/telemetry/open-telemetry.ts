import type { Settings } from '../config/settings.js';
import { Metering } from './metering.js';
import { Tracing } from './tracing.js';

/** How the providers of an application are opened. */
export interface OpenOptions {
  /**
   * Registers them as the process's own, so that `MetricService`, `@Span` and every other user of the OpenTelemetry API reach the same
   * readers and exporters. For the one application of a process; others keep theirs to themselves.
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
   * Opens what the settings ask for. A global one has to be open before modules are loaded: instruments that are made before
   * stay without effect.
   */
  static async open(settings: Settings, options: OpenOptions): Promise<OpenTelemetry> {
    const [metering, tracing] = await Promise.all([Metering.open(settings, options), Tracing.open(settings, options)]);
    return new OpenTelemetry(metering, tracing);
  }

  /** Exports what is left. Rejects if that fails; nothing of it is repeated. */
  async shutdown(): Promise<void> {
    const outcomes = await Promise.allSettled([this.metering.shutdown(), this.tracing.shutdown()]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}
