import { Logger } from '@nestjs/common';
import { type Processor, Queue, type QueueBase, type QueueOptions, Worker, type WorkerOptions } from 'bullmq';
import { endsWithin } from '../../core/with-timeout.js';
import { openBackend } from './queue-backend.js';

/** An unavailable server never confirms the close of a connection. */
const CLOSE_WITHIN_MS = 500;
const JOBS_END_WITHIN_MS = 8_000;

/** How long an error is not logged again. */
const REPEAT_ERROR_MS = 5_000;

const logger = new Logger('Queue');
const lastErrors = new WeakMap<QueueBase, { message: string; at: number }>();

/** The producer that `@InjectQueue` injects. */
export class ServiceQueue<T = unknown> extends Queue<T> {
  private ending: Promise<void> | undefined;

  constructor(name: string, options: QueueOptions) {
    super(name, options, openBackend);
    this.on('error', logError);
  }

  /** Closes the connection, or disconnects it after 500 ms. Never rejects. */
  override close(): Promise<void> {
    this.ending ??= closeOrDisconnect(this, super.close(), CLOSE_WITHIN_MS);
    return this.ending;
  }
}

/** The consumer that runs a `@Processor`. */
export class ServiceWorker<T = unknown> extends Worker<T, void> {
  private ending: Promise<void> | undefined;

  constructor(name: string, processor: Processor<T, void>, options: WorkerOptions) {
    super(name, processor, options, openBackend);
    this.on('error', logError);
    this.on('failed', (job, error) => logger.warn({ queue: name, job: job?.id, err: error }, 'A job failed'));
  }

  /**
   * Stops accepting jobs, waits for the running ones, and closes the connections. Disconnects them after `within`
   * milliseconds, because BullMQ waits indefinitely for an unavailable Redis. Later calls, including Nest's, wait for
   * the first one. Never rejects.
   */
  override close(force = false, within = JOBS_END_WITHIN_MS): Promise<void> {
    this.ending ??= closeOrDisconnect(this, super.close(force), within);
    return this.ending;
  }
}

async function closeOrDisconnect(instance: QueueBase, closing: Promise<void>, within: number): Promise<void> {
  if (await endsWithin(closing, within)) return;
  // Both calls stop reconnecting immediately, but their promises can wait for an unavailable server.
  instance.backend.disconnectBlocking(false).catch(() => undefined);
  instance.disconnect().catch(() => undefined);
}

/**
 * Without this listener, the `error` event of a lost connection would be thrown. One line for the same error of an
 * outage.
 */
function logError(this: QueueBase, error: Error): void {
  const now = performance.now();
  const last = lastErrors.get(this);
  if (last?.message === error.message && now - last.at < REPEAT_ERROR_MS) return;
  lastErrors.set(this, { message: error.message, at: now });
  logger.warn(`Queue error: ${error.message}`);
}
