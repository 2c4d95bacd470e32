import 'reflect-metadata';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Client } from 'pg';
// Loading the modules registers their migrations.
import '../../src/app.module.js';
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from '../../src/platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../../src/platform/database/migrate.js';
import { migrateQueue } from '../../src/platform/queue/migrate-queue.js';
import { TEMPLATE_DATABASE } from './database.js';
import { makeRunFolder, removeRunFolder } from './run-folder.js';
import { serveTenantServices } from './tenant-services.js';
import { TENANT_SERVICES_URL } from './tenant.js';

/**
 * One embedded PostgreSQL for all specs, with a migrated template database; the services of tenants; and the decision
 * about Redis.
 */
export default async function globalSetup(): Promise<void> {
  requireRedisInCi();
  const folder = await makeRunFolder();
  // What the tests and their services write outside of the checkout.
  const { TMPDIR: before } = process.env;
  process.env['TMPDIR'] = folder;
  const postgres = await startPostgres(join(folder, 'postgres'));
  const template = new URL(postgres.url);
  template.pathname = TEMPLATE_DATABASE;
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  await client.end();
  await migrate(template.href);
  await migrateQueue(template.href);
  process.env['TEST_DATABASE_URL'] = postgres.url;
  const tenantServices = await serveTenantServices();
  process.env[TENANT_SERVICES_URL] = tenantServices.url;
  (globalThis as { stopTestServices?: () => Promise<void> }).stopTestServices = async () => {
    try {
      await tenantServices.stop();
    } finally {
      await postgres.stop();
    }
    await removeRunFolder(folder);
    // With `--watch`, the next run is in this process.
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
  };
}

/**
 * The services of all tenants and of the spec files that run at the same time share one server. It leaves flushing to
 * the operating system: tests end processes, and no machine. Waiting for the disk would take most of their time.
 */
async function startPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  const created = await startEmbeddedPostgres({ dataDir });
  const client = new Client({ connectionString: created.url });
  await client.connect();
  for (const setting of ['max_connections = 600', 'fsync = off', 'full_page_writes = off'])
    await client.query(`ALTER SYSTEM SET ${setting}`);
  await client.end();
  await created.stop();
  return startEmbeddedPostgres({ dataDir });
}

/** Without Redis its suites are left out with a warning; in CI that would be a gap, so it is an error. */
function requireRedisInCi(): void {
  const onPath = ['redis-server', 'valkey-server'].some((name) => spawnSync(name, ['--version']).status === 0);
  if (onPath || process.env['REDIS_URL'] !== undefined) return;
  const message = 'There is no redis-server or valkey-server on the PATH and no REDIS_URL.';
  if (process.env['CI'] !== undefined) throw new Error(`${message} In CI the Redis suites must run.`);
  process.stderr.write(`${message} The Redis suites are left out.\n`);
}
