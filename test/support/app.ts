import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import supertest from 'supertest';
import { AppConfig } from '../../src/core/config/app-config.js';
import { generateEncryptionKey, parseEncryptionKeys } from '../../src/core/config/encryption-keys.js';
import { readSettings } from '../../src/core/config/settings.js';
import { createLogger } from '../../src/platform/logging/pino.js';
import { launchApp, type LaunchOptions } from '../../src/boot/testing/launch-app.js';
import { createTestDatabase, type TestDatabase } from './database.js';

/** The application as a client sees it: listening on a port of its own, with a database of its own. */
export interface TestApp {
  app: NestFastifyApplication;
  config: AppConfig;
  url: string;
  apiKey: string;
  /** The path of the setup page, while the organization has no owner. */
  setupPath: string | undefined;
  org: 'default';
  /** Given to `startTestApp`, it makes another process of the same service, which is to be closed first. */
  database: TestDatabase;
  /** Calls a management tool. */
  tool(name: string, body?: object, key?: string): supertest.Test;
  close(): Promise<void>;
}

/** What a spec may set. */
export interface TestAppOptions extends LaunchOptions {
  /** Environment variables. */
  env?: Record<string, string>;
  /** The database of another application, to share it. */
  database?: TestDatabase;
  /** Gets every line of the log; `LOG_LEVEL` decides which there are. */
  onLogLine?: (line: string) => void;
}

const TEST_ENVIRONMENT = {
  LOG_LEVEL: 'silent',
  PORT: '0',
  METRICS_PORT: '0',
  UPSTREAM_ALLOW_PRIVATE: 'true',
  // Many specs close an application while runs that never end are in progress.
  SHUTDOWN_GRACE_MS: '500',
  /** The same for all applications of a spec file, as for all processes of a service. */
  ENCRYPTION_KEYS: generateEncryptionKey('test'),
};

/** Starts the real application: real PostgreSQL, real queue, real HTTP. */
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
    tool: (name, body = {}, key = apiKey ?? '') =>
      supertest(url).post(`/api/default/tools/${name}`).set('authorization', `Bearer ${key}`).send(body),
    close: async () => {
      await app.close();
      if (database === undefined) await ownDatabase.drop();
    },
  };
}
