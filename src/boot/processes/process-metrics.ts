import { type MetricData, DataPointType, type Histogram } from '@opentelemetry/sdk-metrics';
import type { Logger } from 'pino';
import type { Attributes } from '@opentelemetry/api';
import type { Settings } from '../../core/config/settings.js';
import { endsWithin } from '../../core/with-timeout.js';
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

type Value = number | Histogram;
type Point = MetricData['dataPoints'][number] & { readonly value: Value };

/**
 * The metrics of several processes as those of one service. Sums and histograms are added. A gauge is a value that
 * every process reports of the whole service, such as the length of the queue: the largest one counts.
 */
export function mergeMetrics(parts: readonly (readonly MetricData[])[]): MetricData[] {
  const groups = Map.groupBy(parts.flat(), ({ descriptor }) => descriptor.name);
  return [...groups.values()].flatMap(([first, ...others]) => (first === undefined ? [] : [mergeOne(first, others)]));
}

/** The metrics that only grow. They stay in the total of a service when their process has ended. */
export function growingMetrics(metrics: readonly MetricData[]): MetricData[] {
  return metrics.filter(
    (metric) =>
      metric.dataPointType === DataPointType.HISTOGRAM ||
      (metric.dataPointType === DataPointType.SUM && metric.isMonotonic),
  );
}

function mergeOne(first: MetricData, others: readonly MetricData[]): MetricData {
  if (others.length === 0) return first;
  const add = first.dataPointType === DataPointType.GAUGE ? largest : sum;
  const points = new Map<string, Point>();
  for (const point of [first, ...others].flatMap(({ dataPoints }) => dataPoints as Point[])) {
    const key = keyOf(point.attributes);
    const known = points.get(key);
    points.set(key, known === undefined ? point : ({ ...known, value: add(known.value, point.value) } as Point));
  }
  return { ...first, dataPoints: [...points.values()] } as MetricData;
}

function sum(a: Value, b: Value): Value {
  if (typeof a === 'number' || typeof b === 'number') return Number(a) + Number(b);
  const counts = a.buckets.counts.map((count, bucket) => count + (b.buckets.counts[bucket] ?? 0));
  return { buckets: { ...a.buckets, counts }, count: a.count + b.count, sum: (a.sum ?? 0) + (b.sum ?? 0) };
}

function largest(a: Value, b: Value): Value {
  return Math.max(Number(a), Number(b));
}

/** Independent of the order in which a process names attributes. */
function keyOf(attributes: Attributes): string {
  return JSON.stringify(Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1)));
}
