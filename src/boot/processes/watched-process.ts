import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import type { Logger } from 'pino';
import type { ServiceSlot } from '../../core/config/app-config.js';
import { endsWithin } from '../../core/with-timeout.js';
import { ProcessStartError, type ToService, type ToSupervisor } from './messages.js';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;
/** A process that ran for this long is started again without a long pause. */
const STEADY_MS = 60_000;

/** What happens to a service process. */
export interface ProcessEvents {
  /** A process ended, and with it what it had counted. */
  onEnd(slot: number): void;
  onMetrics(slot: number, answer: { id: number; metrics: readonly MetricData[]; isLast: boolean }): void;
}

/** The service process of one slot: starting → listening → (ended → starting →) … → stopped. */
export class WatchedProcess {
  #worker: Worker | undefined;
  #ended: Promise<string> = Promise.resolve('');
  #pause = FIRST_PAUSE_MS;
  readonly #stopping = new AbortController();

  /** @param count of all service processes */
  constructor(
    private readonly slot: ServiceSlot,
    private readonly count: number,
    private readonly logger: Logger,
    private readonly events: ProcessEvents,
  ) {}

  get number(): number {
    return this.slot.number;
  }

  get pid(): number | undefined {
    return this.#worker?.process.pid;
  }

  /**
   * Starts the process, and returns the address where it listens.
   * @throws ProcessStartError if it ends instead, and the error of `fork`
   */
  async start(preparesFirstStart: boolean): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    let sentence: string | undefined;
    // `auto` must mean the same in each process.
    const worker = cluster.fork({ PROCESSES: String(this.count) });
    // `endOf` watches the process; an event without a listener would end the supervisor.
    worker.on('error', () => undefined);
    this.#worker = worker;
    worker.on('message', (message: ToSupervisor) => {
      if (message.type === 'loaded') this.send({ type: 'start', slot: this.slot, preparesFirstStart });
      else if (message.type === 'listening') resolve(message.url);
      else if (message.type === 'failed') sentence = message.sentence;
      else if (message.type === 'metrics') this.events.onMetrics(this.slot.number, message);
    });
    this.#ended = endOf(worker).then((end) => {
      this.events.onEnd(this.slot.number);
      reject(new ProcessStartError(sentence ?? `Service process ${this.slot.number} ended during its start: ${end}.`));
      return end;
    });
    return promise;
  }

  /** Lets the process print where the service listens. @throws ProcessStartError if it ends instead */
  async announce(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#worker?.on('message', ({ type }: ToSupervisor) => {
      if (type === 'announced') resolve();
    });
    void this.#ended.then((end) => reject(new ProcessStartError(`The first service process ended: ${end}.`)));
    this.send({ type: 'announce' });
    await promise;
  }

  /** Starts the process again whenever it ends, until `stop`. */
  async keepRunning(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      const startedAt = performance.now();
      const end = await this.#ended;
      if (signal.aborted) return;
      if (performance.now() - startedAt > STEADY_MS) this.#pause = FIRST_PAUSE_MS;
      this.logger.error(
        { process: this.slot.number, end, retry_ms: this.#pause },
        'A service process ended and is started again',
      );
      await sleep(this.#pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
      await this.start(false).catch((error: Error) => this.logger.error({ process: this.slot.number }, error.message));
    }
  }

  /** Sends a message to the process; false if there is none. */
  send(message: ToService): boolean {
    if (this.#worker?.isConnected() !== true) return false;
    this.#worker.send(message, () => undefined);
    return true;
  }

  /** Ends the process in order, and after the time limit in any case. */
  async stop(withinMs: number): Promise<void> {
    this.#stopping.abort();
    this.#worker?.process.kill('SIGTERM');
    if (await endsWithin(this.#ended, withinMs)) return;
    this.#worker?.process.kill('SIGKILL');
    await this.#ended;
  }
}

/** How the process ended. Never rejects. */
function endOf({ process: child }: Worker): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  child.on('error', (error) => {
    // Without a pid it was not started. Other errors are those of messages to it, and its end follows.
    if (child.pid === undefined) resolve(error.message);
  });
  return promise;
}
