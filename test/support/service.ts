import { createTestDatabase, openQueries, type TestDatabase } from './database.js';
import { freePort } from './free-port.js';
import { ServiceProcess, startWorkerProcess, testEnvironment } from './service-process.js';
import { callTool, type Tenant } from './tenant.js';

/** A service of a spec file's own, as its only organization sees it. */
export interface TestService extends Tenant {
  readonly org: 'default';
  /** The path of the setup page, while the organization has no owner. */
  readonly setupPath: string | undefined;
  /** Given to `startTestService`, it makes another process of the same service, which is to be closed first. */
  readonly database: TestDatabase;
}

/** What a spec may set. */
export interface TestServiceOptions {
  /** Environment variables. */
  env?: Record<string, string>;
  /** The database of another process, to share it. */
  database?: TestDatabase;
}

/** Starts the built service as a process: for specs that need settings, tables or several processes of their own. */
export async function startTestService({ env = {}, database }: TestServiceOptions = {}): Promise<TestService> {
  const ownDatabase = database ?? (await createTestDatabase());
  const { service, url, apiKey, setupPath } = await start({ ...testEnvironment(ownDatabase.url), ...env });
  const { query, end } = openQueries(ownDatabase.url);
  const close = async (): Promise<void> => {
    await service.kill('SIGTERM');
    await end();
    if (database === undefined) await ownDatabase.drop();
  };
  let closing: Promise<void> | undefined;
  return {
    url,
    apiKey,
    setupPath,
    org: 'default',
    database: ownDatabase,
    tool: (name, body = {}, key = apiKey) => callTool({ url, org: 'default', apiKey: key }, name, body),
    query,
    close: () => (closing ??= close()),
  };
}

type Started = Pick<TestService, 'url' | 'apiKey' | 'setupPath'> & { service: ServiceProcess };

async function start(env: Record<string, string>): Promise<Started> {
  const isWorker = env['ROLE'] === 'worker';
  // A worker prints no address, and a service with BASE_URL prints the one where others find it.
  const port = isWorker || env['BASE_URL'] !== undefined ? String(await freePort()) : '0';
  const ownUrl = `http://127.0.0.1:${port}`;
  if (isWorker) {
    const service = await startWorkerProcess({ ...env, PORT: port });
    return { service, url: ownUrl, apiKey: '', setupPath: undefined };
  }
  const service = new ServiceProcess({ ...env, PORT: port });
  const { url, apiKey = '' } = await service.listening();
  const setupPath = /\/setup\?token=\S+/.exec(service.output)?.[0];
  return { service, url: port === '0' ? url : ownUrl, apiKey, setupPath };
}
