import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createTestDatabase, type TestDatabase } from './database.js';
import { ServiceProcess, testEnvironment } from './service-process.js';
import { freePort } from './free-port.js';
import { SharedBrowsers } from './shared-browsers.js';
import type { TenantService } from './tenant.js';

/** More than a worker has spec files. */
const TENANTS = Array.from({ length: 1_000 }, (_, index) => `tenant-${index}`);

/** The built service, started for one Jest worker, or for the specs that need the same settings or two processes. */
interface Started {
  processes: readonly ServiceProcess[];
  urls: readonly string[];
  database: TestDatabase;
  tenants: number;
}

/** Below it are the browsers of workers. */
const BROWSERS = '/browsers/';

/**
 * Tells on a loopback port of the service of a path, whose query is the settings, and starts the service when it is
 * asked for the first time: a run without tenants starts none. The browsers of the suites are there too.
 */
export async function serveTenantServices(): Promise<{ url: string; stop(): Promise<void> }> {
  const services = new Map<string, Promise<Started>>();
  const browsers = new SharedBrowsers();
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    // The process is busy: it could close a kept connection just when the next request arrives.
    response.setHeader('connection', 'close');
    if (path.startsWith(BROWSERS)) {
      browsers.addressFor(path.slice(BROWSERS.length)).then(
        (address) => response.writeHead(200).end(address),
        (error: unknown) => response.writeHead(500).end(String(error)),
      );
      return;
    }
    const started = services.get(path) ?? startService(new URL(path, 'http://localhost'));
    services.set(path, started);
    started.then(nextTenant).then(
      (tenant) => response.writeHead(200).end(JSON.stringify(tenant)),
      (error: unknown) => {
        services.delete(path);
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
      try {
        await browsers.stop();
      } finally {
        for (const started of await Promise.allSettled(services.values())) {
          if (started.status === 'fulfilled')
            await Promise.all(started.value.processes.map((one) => one.kill('SIGKILL')));
        }
      }
    },
  };
}

async function startService({ pathname, searchParams }: URL): Promise<Started> {
  const database = await createTestDatabase();
  const environment = {
    ...testEnvironment(database.url),
    STDIO_COMMANDS: 'node',
    STDIO_ENV_ALLOW: 'MEMORY_FILE_PATH',
    STDIO_ORGANIZATIONS: TENANTS.join(','),
    ...Object.fromEntries(searchParams),
  };
  const first = new ServiceProcess(environment);
  const { url } = await first.listening();
  if (pathname !== '/pair') return { processes: [first], urls: [url], database, tenants: 0 };
  // It announces the public address, which is that of the first one.
  const port = String(await freePort());
  const second = new ServiceProcess({ ...environment, BASE_URL: url, PORT: port });
  await second.listening();
  const secondUrl = Object.assign(new URL(url), { port }).origin;
  return { processes: [first, second], urls: [url, secondUrl], database, tenants: 0 };
}

/** @throws what the service printed, if it has ended */
function nextTenant(started: Started): TenantService {
  const { processes, database, urls } = started;
  const ended = processes.find(({ hasEnded }) => hasEnded);
  if (ended !== undefined) throw new Error(`The service of the tenants has ended: ${ended.output}`);
  return { urls, databaseUrl: database.url, slug: TENANTS[started.tenants++] ?? 'too-many' };
}
