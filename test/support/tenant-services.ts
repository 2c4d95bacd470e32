import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestDatabase, type TestDatabase } from './database.js';
import { ServiceProcess } from './service-process.js';
import type { TenantService } from './tenant.js';
import { TEST_ENVIRONMENT } from './test-environment.js';

/** More than a worker has spec files. */
const TENANTS = Array.from({ length: 1_000 }, (_, index) => `tenant-${index}`);

/** The built service, started for one Jest worker. */
interface Started {
  service: ServiceProcess;
  database: TestDatabase;
  url: string;
  tenants: number;
}

/**
 * Tells on a loopback port of the service of a Jest worker, whose number is the path, and starts the service when it is
 * asked for the first time: a run without tenants starts none.
 */
export async function serveTenantServices(): Promise<{ url: string; stop(): Promise<void> }> {
  const services = new Map<string, Promise<Started>>();
  const server = createServer((request, response) => {
    const worker = request.url ?? '/';
    const started = services.get(worker) ?? startService();
    services.set(worker, started);
    started.then(nextTenant).then(
      (tenant) => response.writeHead(200).end(JSON.stringify(tenant)),
      (error: unknown) => {
        services.delete(worker);
        response.writeHead(500).end(String(error));
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      server.close();
      server.closeAllConnections();
      for (const started of await Promise.allSettled(services.values())) {
        if (started.status === 'fulfilled') await started.value.service.kill('SIGKILL');
      }
    },
  };
}

async function startService(): Promise<Started> {
  const database = await createTestDatabase();
  const service = new ServiceProcess({
    ...TEST_ENVIRONMENT,
    LOG_LEVEL: 'error',
    DATABASE_URL: database.url,
    STDIO_ORGANIZATIONS: TENANTS.join(','),
    ...coverageEnvironment(),
  });
  const { url } = await service.listening();
  return { service, database, url, tenants: 0 };
}

/** @throws what the service printed, if it has ended */
function nextTenant(started: Started): TenantService {
  const { service, database, url } = started;
  if (service.hasEnded) throw new Error(`The service of the tenants has ended: ${service.output}`);
  return { url, databaseUrl: database.url, slug: TENANTS[started.tenants++] ?? 'too-many' };
}

/** Where Node writes what the service has executed, when coverage is measured. */
function coverageEnvironment(): Record<string, string> {
  const folder = process.env['NODE_V8_COVERAGE'];
  return folder === undefined ? {} : { NODE_V8_COVERAGE: folder };
}
