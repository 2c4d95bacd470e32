import type { Logger } from '@nestjs/common';

/** A collector that is away must not hold up the stop of the service. */
const FLUSH_MS = 2000;

/** Waits for the last export, but only so long; what is not sent by then is lost. Never rejects. */
export async function withinShutdown(flush: Promise<void>, logger: Logger): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), FLUSH_MS);
  });
  const outcome = await Promise.race([
    flush.then(
      () => 'flushed' as const,
      () => 'failed' as const,
    ),
    late,
  ]);
  clearTimeout(timer);
  if (outcome !== 'flushed') logger.warn('The last telemetry could not be exported: the collector does not answer.');
}
