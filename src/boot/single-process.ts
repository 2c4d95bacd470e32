import type { AppOptions } from '../app.module.js';
import type { Settings } from '../core/config/settings.js';
import { endsWithin } from '../core/with-timeout.js';
import { createLogger } from '../platform/logging/pino.js';
import { startApplication } from './application.js';
import { type RunningService, STORAGE_WITHIN_MS } from './running-service.js';
import { openStorage } from './storage.js';

/** Starts the service in this process: its storage, then the application. */
export async function startSingleProcess(
  settings: Settings,
  { modules }: Pick<AppOptions, 'modules'>,
): Promise<RunningService> {
  const logger = createLogger(settings.logLevel);
  const { config, stop: stopStorage } = await openStorage(settings, (line) => logger.info(line));
  try {
    const application = await startApplication(config, logger, {
      preparesFirstStart: true,
      ...(modules && { modules }),
    });
    await application.announce();
    return {
      url: config.baseUrl,
      stop: async () => {
        await application.close();
        await endsWithin(stopStorage(), STORAGE_WITHIN_MS);
        logger.info('The service has stopped');
      },
    };
  } catch (error) {
    await stopStorage();
    throw error;
  }
}
