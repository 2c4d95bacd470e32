import type { AppOptions } from '../../app.module.js';
import { AppConfig } from '../../core/config/app-config.js';
import { ConfigError } from '../../core/config/env-reader.js';
import type { Settings } from '../../core/config/settings.js';
import { createLogger } from '../../platform/logging/pino.js';
import type { OpenTelemetry } from '../../platform/telemetry/open-telemetry.js';
import { type RunningApplication, startApplication } from '../application.js';
import { installedKeys, runningDatabaseUrl } from '../database.js';
import type { RunningService } from '../running-service.js';
import { sentenceFor } from '../start-failure.js';
import { migrateStorage } from '../storage.js';
import { withTimeout } from '../../core/with-timeout.js';
import type { ToService, ToSupervisor } from './messages.js';

type Start = Extract<ToService, { type: 'start' }>;

/** A supervisor answers at once. */
const SUPERVISOR_WITHIN_MS = 30_000;
/** About as many series as fit into one message without delaying others. */
const SERIES_AT_ONCE = 200;

/** Starts one of the service's processes, as the supervisor that forked it says. */
export async function startServiceProcess(
  settings: Settings,
  { modules }: Pick<AppOptions, 'modules'>,
): Promise<RunningService> {
  const { slot, preparesFirstStart } = await startMessage();
  try {
    const logger = createLogger(settings.logLevel).child({ process: slot.number });
    const resolved = {
      databaseUrl: await runningDatabaseUrl(settings),
      encryptionKeys: await installedKeys(settings),
    };
    await migrateStorage(settings, resolved.databaseUrl);
    const config = new AppConfig(settings, { ...resolved, slot });
    const application = await startApplication(config, logger, { preparesFirstStart, ...(modules && { modules }) });
    process.on('message', (message: ToService) => {
      if (message.type === 'announce') void announce(application);
      else if (message.type === 'read_metrics') void sendMetrics(message.id, application.telemetry);
    });
    send({ type: 'listening', url: config.baseUrl });
    return { url: config.baseUrl, stop: () => application.close() };
  } catch (error) {
    return fail(error);
  }
}

async function startMessage(): Promise<Start> {
  const { promise, resolve } = Promise.withResolvers<Start>();
  process.once('message', (message: Start) => resolve(message));
  send({ type: 'loaded' });
  return withTimeout(promise, SUPERVISOR_WITHIN_MS, () => {
    throw new ConfigError('PROCESSES must be 1 in a process that another program has forked.');
  });
}

async function announce(application: RunningApplication): Promise<void> {
  try {
    await application.announce();
    send({ type: 'announced' });
  } catch (error) {
    await fail(error);
  }
}

async function sendMetrics(id: number, { metering }: OpenTelemetry): Promise<void> {
  // Without an answer, the supervisor continues with what it knows.
  const read = await metering.read().catch(() => undefined);
  if (read === undefined) return;
  let part: Extract<ToSupervisor, { type: 'metrics' }>['metrics'][number][] = [];
  let series = 0;
  for (const metric of read.scopeMetrics.flatMap(({ metrics }) => metrics)) {
    part.push(metric);
    series += metric.dataPoints.length;
    if (series < SERIES_AT_ONCE) continue;
    send({ type: 'metrics', id, metrics: part, isLast: false });
    [part, series] = [[], 0];
  }
  send({ type: 'metrics', id, metrics: part, isLast: true });
}

/** The supervisor says why: several processes would repeat one sentence. */
async function fail(error: unknown): Promise<never> {
  await new Promise<void>((resolve) => {
    process.send?.({ type: 'failed', sentence: sentenceFor(error) } satisfies ToSupervisor, undefined, undefined, () =>
      resolve(),
    );
  });
  process.exit(1);
}

/** Ignores that the supervisor has ended: this process then ends, too. */
function send(message: ToSupervisor): void {
  process.send?.(message, undefined, undefined, () => undefined);
}
