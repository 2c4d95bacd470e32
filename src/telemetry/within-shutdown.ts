import type { Logger } from '@nestjs/common';
import { withTimeout } from '../common/with-timeout.js';

/** A collector that is away must not hold up the stop of the service. */
const FLUSH_MS = 2000;

/** Waits for the last export, but only so long; what is not sent by then is lost. Never rejects. */
export async function withinShutdown(flush: Promise<void>, logger: Logger): Promise<void> {
  const ended = flush.then(
    () => true,
    () => false,
  );
  const isFlushed = await withTimeout(ended, FLUSH_MS, () => false);
  if (!isFlushed) logger.warn('The last telemetry could not be exported: the collector does not answer.');
}
