import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Logger } from 'pino';
import { AppModule } from '../../app.module.js';
import { FirstStartService } from '../first-start.service.js';
import type { AppConfig } from '../../core/config/app-config.js';
import { configureApp, createAdapter } from '../configure-app.js';
import { NestLogger } from '../../platform/logging/nest-logger.js';

/** What a test adds to the application. */
export interface LaunchOptions {
  /** Modules in addition to those of `AppModule`. */
  modules?: readonly (Type | DynamicModule)[];
  /** Configures the application before it listens. */
  beforeListening?: (app: NestFastifyApplication) => void;
  /** Receives every route that the HTTP server registers. */
  onRoute?: (route: { method: string | string[]; url: string }) => void;
}

export interface LaunchedApp {
  app: NestFastifyApplication;
  url: string;
  /** The generated key, if the organization had none. */
  newKey: string | undefined;
  /** The path of the setup page, while the organization has no owner. */
  setupPath: string | undefined;
}

@Module({})
class TestRootModule {}

/** Starts the application on open storage, as `startService` does, and listens on a free loopback port. */
export async function launchApp(
  config: AppConfig,
  logger: Logger,
  { modules = [], beforeListening, onRoute }: LaunchOptions = {},
): Promise<LaunchedApp> {
  const root = { module: TestRootModule, imports: [AppModule.forRoot(config), ...modules] };
  const app = await NestFactory.create<NestFastifyApplication>(root, createAdapter(config, logger), {
    logger: new NestLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  try {
    if (onRoute !== undefined) app.getHttpAdapter().getInstance().addHook('onRoute', onRoute);
    configureApp(app, config, logger);
    beforeListening?.(app);
    const firstStart = config.servesApi ? app.get(FirstStartService) : undefined;
    const setupPath = await firstStart?.prepare();
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    config.listeningAt(url);
    return { app, url, newKey: await firstStart?.createFirstKey(), setupPath };
  } catch (error) {
    await app.close();
    throw error;
  }
}
