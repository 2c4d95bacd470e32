import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DataSource } from 'typeorm';
import { AppConfig } from '../../src/core/config/app-config.js';
import { parseEncryptionKeys } from '../../src/core/config/encryption-keys.js';
import { readSettings } from '../../src/core/config/settings.js';
import { createLogger } from '../../src/platform/logging/pino.js';
import { launchApp, type LaunchOptions } from '../../src/boot/testing/launch-app.js';
import { createTestDatabase } from './database.js';
import type { TestService, TestServiceOptions } from './service.js';
import { callTool } from './tenant.js';
import { TEST_ENVIRONMENT } from './test-environment.js';

/** A service in the process of the spec, which can reach into it. */
export interface TestApp extends TestService {
  app: NestFastifyApplication;
  config: AppConfig;
}

/** What a spec may set. */
export interface TestAppOptions extends LaunchOptions, TestServiceOptions {
  /** Gets every line of the log; `LOG_LEVEL` decides which there are. */
  onLogLine?: (line: string) => void;
}

/**
 * Starts the application in the process of the spec, with real PostgreSQL, queue and HTTP: for specs that add modules
 * or take parts out of it.
 */
export async function startTestApp({ env = {}, database, onLogLine, ...added }: TestAppOptions = {}): Promise<TestApp> {
  const ownDatabase = database ?? (await createTestDatabase());
  const settings = readSettings({ ...TEST_ENVIRONMENT, ...env, DATABASE_URL: ownDatabase.url });
  const encryptionKeys = settings.encryptionKeys ?? parseEncryptionKeys(TEST_ENVIRONMENT.ENCRYPTION_KEYS);
  const config = new AppConfig(settings, { databaseUrl: ownDatabase.url, encryptionKeys });
  const logger = createLogger(settings.logLevel, onLogLine && { write: onLogLine });
  const { app, url, newKey: apiKey, setupPath } = await launchApp(config, logger, added);
  return {
    app,
    config,
    url,
    apiKey: apiKey ?? '',
    setupPath,
    org: 'default',
    database: ownDatabase,
    tool: (name, body = {}, key = apiKey ?? '') => callTool({ url, org: 'default', apiKey: key }, name, body),
    query: (statement, parameters) => app.get(DataSource).query(statement, parameters),
    close: async () => {
      await app.close();
      if (database === undefined) await ownDatabase.drop();
    },
  };
}
