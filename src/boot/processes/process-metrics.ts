import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { Logger } from 'pino';
import type { Settings } from '../../core/config/settings.js';
import { endsWithin } from '../../core/with-timeout.js';
import { growingMetrics, mergeMetrics } from '../../platform/telemetry/merge-metrics.js';
import { MetricsServer } from '../../platform/telemetry/metrics-server.js';
import { SCOPE_NAME } from '../../platform/telemetry/names.js';
import { prometheusText } from '../../platform/telemetry/prometheus-text.js';
import { serviceResource } from '../../platform/telemetry/resource.js';
import type { ProcessEvents, WatchedProcess } from './watched-process.js';

/** How long a scraper waits for a process. Its last known values are then used. */
const ANSWER_WITHIN_MS = 2_000;

/**
 * Serves the metrics of all service processes as those of one service. Counters include what ended processes had
 * counted when they were last read, so that no total becomes smaller.
 */
export class ProcessMetrics implements ProcessEvents {
  /** The last complete answer of each process, by slot. */
  readonly #known = new Map<number, readonly MetricData[]>();
  /** The parts of the answers that are arriving. */
  readonly #arriving = new Map<number, MetricData[]>();
  #ofEnded: MetricData[] = [];
  #lastId = 0;
  #reading: Promise<void> | undefined;
  #awaited = new Map<number, () => void>();
  #server: MetricsServer | undefined;

  constructor(
    private readonly settings: Settings,
    private readonly logger: Logger,
  ) {}

  /** Listens on `METRICS_HOST:METRICS_PORT` if the settings enable it. */
  async serve(processes: readonly WatchedProcess[]): Promise<void> {
    const resource = serviceResource();
    const read = async (): Promise<AsyncIterable<string>> => {
      await (this.#reading ??= this.#read(processes).finally(() => (this.#reading = undefined)));
      const metrics = mergeMetrics([this.#ofEnded, ...this.#known.values()]);
      return prometheusText({ resource, scopeMetrics: [{ scope: { name: SCOPE_NAME }, metrics }] });
    };
    this.#server = await MetricsServer.listenAsConfigured(this.settings, read, {
      log: (line) => this.logger.info(line),
      warn: (line) => this.logger.warn(line),
    });
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  onMetrics(
    slot: number,
    { id, metrics, isLast }: { id: number; metrics: readonly MetricData[]; isLast: boolean },
  ): void {
    // An answer that is too late would be mixed with the next one.
    if (id !== this.#lastId) return;
    const arrived = [...(this.#arriving.get(slot) ?? []), ...metrics];
    this.#arriving.set(slot, arrived);
    if (!isLast) return;
    this.#known.set(slot, arrived);
    this.#awaited.get(slot)?.();
  }

  onEnd(slot: number): void {
    this.#ofEnded = mergeMetrics([this.#ofEnded, growingMetrics(this.#known.get(slot) ?? [])]);
    this.#known.delete(slot);
    this.#arriving.delete(slot);
    this.#awaited.get(slot)?.();
  }

  /** Asks every process that runs, and waits until all have answered or ended. */
  async #read(processes: readonly WatchedProcess[]): Promise<void> {
    this.#lastId++;
    this.#arriving.clear();
    this.#awaited.clear();
    const answers = processes
      .filter((one) => one.send({ type: 'read_metrics', id: this.#lastId }))
      .map(({ number }) => new Promise<void>((resolve) => this.#awaited.set(number, resolve)));
    await endsWithin(Promise.all(answers), ANSWER_WITHIN_MS);
  }
}
