import { randomBytes } from 'node:crypto';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { openStorage, type Storage } from '../storage.js';
import { endsWithin } from '../../core/with-timeout.js';
import { generateEncryptionKey } from '../../core/config/encryption-keys.js';
import { readSettings } from '../../core/config/settings.js';
import { createLogger } from '../../platform/logging/pino.js';
import { RunSupervisor } from '../../runtime/worker/run-supervisor.js';
import { type LaunchedApp, launchApp, type LaunchOptions } from './launch-app.js';
import { TemporaryDataFolder } from './temporary-data-folder.js';
import { TestClient } from './test-client.js';

/** The options of a test application. */
export interface TestAppOptions extends Pick<LaunchOptions, 'modules'> {
  /** Settings of the service by their variables. The kit does not read the environment of the process. */
  env?: Record<string, string>;
}

/** Their sum is below the five seconds that `close` can take. */
const APPLICATION_WITHIN_MS = 3_000;
const STORAGE_WITHIN_MS = 1_000;
/** After this time, the removal of the folder continues in the background. */
const REMOVAL_WITHIN_MS = 700;
const HANDOVER_EVERY_MS = 50;

/**
 * Starts the whole service in this process: HTTP on a free loopback port, a worker, an embedded PostgreSQL in a
 * temporary folder, and an organization with one key that allows everything. Any number of them can run at the same
 * time.
 *
 * With `env.DATABASE_URL` the service uses that database instead, with a new organization. With `env.DATA_DIR` it
 * stores its data there.
 */
export async function createTestApp({ env = {}, modules = [] }: TestAppOptions = {}): Promise<TestApp> {
  const settings = readSettings({
    LOG_LEVEL: 'silent',
    METRICS_PORT: 'off',
    UPSTREAM_ALLOW_PRIVATE: 'true',
    BOOTSTRAP_ORG: `test-${randomBytes(4).toString('hex')}`,
    ...(env['DATABASE_URL'] !== undefined && { ENCRYPTION_KEYS: generateEncryptionKey('test') }),
    ...env,
  });
  const isTemporary = env['DATABASE_URL'] === undefined && env['DATA_DIR'] === undefined;
  const folder = isTemporary ? new TemporaryDataFolder() : undefined;
  const logger = createLogger(settings.logLevel);
  let storage: Storage | undefined;
  try {
    storage = await openStorage({ ...settings, ...(folder && { dataDir: folder.path }) }, (line) => logger.info(line));
    return new TestApp(storage, folder, await launchApp(storage.config, logger, { modules }));
  } catch (error) {
    await storage?.stop();
    await folder?.remove();
    throw error;
  }
}

/** A running service, and a client with the key of its organization. */
export class TestApp extends TestClient {
  /** The Nest application, to look up providers. */
  readonly app: NestFastifyApplication;
  readonly #storage: Storage;
  readonly #folder: TemporaryDataFolder | undefined;
  #closed: Promise<void> | undefined;

  constructor(storage: Storage, folder: TemporaryDataFolder | undefined, { app, url, newKey }: LaunchedApp) {
    const { bootstrapOrg, bootstrapApiKey } = storage.config.settings;
    super(url, bootstrapOrg, newKey ?? bootstrapApiKey ?? '');
    this.app = app;
    this.#storage = storage;
    this.#folder = folder;
  }

  /**
   * Stops the service and deletes its data within five seconds. It aborts open streams and stops runs in progress.
   * Later calls return the same promise.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { config, stop } = this.#storage;
    // A shutdown gives runs time to finish; a test does not wait for them.
    const handover = config.runsJobs
      ? setInterval(() => this.app.get(RunSupervisor, { strict: false }).stopAll('handover'), HANDOVER_EVERY_MS)
      : undefined;
    try {
      await endsWithin(this.app.close(), APPLICATION_WITHIN_MS);
      const stopped = endsWithin(stop(), STORAGE_WITHIN_MS);
      this.#folder?.endServer();
      await stopped;
    } finally {
      clearInterval(handover);
      if (this.#folder !== undefined) await endsWithin(this.#folder.remove(), REMOVAL_WITHIN_MS);
    }
  }
}
