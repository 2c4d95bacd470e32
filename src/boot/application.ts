import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { AppModule, type AppOptions } from '../app.module.js';
import type { AppConfig } from '../core/config/app-config.js';
import { version } from '../core/version.js';
import { endsWithin } from '../core/with-timeout.js';
import { listenWidely } from '../platform/http/listen.js';
import { Peers } from '../platform/http/peers.js';
import { NestLogger } from '../platform/logging/nest-logger.js';
import { OpenTelemetry } from '../platform/telemetry/open-telemetry.js';
import { announcement } from './announcement.js';
import { configureApp, createAdapter } from './configure-app.js';
import { FirstStartService } from './first-start.service.js';
import { APPLICATION_WITHIN_MS } from './running-service.js';

/** What is given to an application that starts. */
interface ApplicationOptions extends Pick<AppOptions, 'modules'> {
  /** Whether it makes the first organization, its owner and its key, which is the work of one process. */
  readonly preparesFirstStart: boolean;
}

/** An application that listens. */
export interface RunningApplication {
  readonly telemetry: OpenTelemetry;
  /** Prints the service's address and, after a first start, its key. */
  announce(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the application of this process on open storage, in order: telemetry, modules, listener. Registers the
 * OpenTelemetry providers globally.
 */
export async function startApplication(
  config: AppConfig,
  logger: Logger,
  { modules, preparesFirstStart }: ApplicationOptions,
): Promise<RunningApplication> {
  const { settings } = config;
  const telemetry = await OpenTelemetry.open(settings, { global: true });
  const peers = config.slot && new Peers(config.slot, logger);
  const app = await NestFactory.create<NestFastifyApplication>(
    AppModule.forRoot(config, { telemetry, ...(modules && { modules }) }),
    createAdapter(config, logger, peers),
    {
      logger: new NestLogger(logger),
      bodyParser: false,
      abortOnError: false,
    },
  );
  const connections = configureApp(app, config, logger);
  const firstStart = config.servesApi && preparesFirstStart ? app.get(FirstStartService) : undefined;
  const setupPath = await firstStart?.prepare();
  const fastify = app.getHttpAdapter().getInstance();
  await peers?.serveOn(fastify, connections);
  await listenWidely(fastify, settings, (options) => app.listen(options));
  config.listeningAt(await app.getUrl());
  logger.info({ url: config.baseUrl, role: settings.role, version }, 'The service is ready');
  return {
    telemetry,
    announce: async () => {
      if (firstStart === undefined) return;
      process.stdout.write(announcement(config, { setupPath, newKey: await firstStart.createFirstKey() }));
    },
    close: async () => {
      logger.info('The service is stopping');
      await endsWithin(app.close(), APPLICATION_WITHIN_MS);
    },
  };
}
