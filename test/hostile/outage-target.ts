import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { startPostgres } from '../faults/stores.js';
import { McpOauthClient } from '../identity/oauth/oauth-client.js';
import { Browser, PASSWORD } from '../identity/sign-in/people.js';
import { createAgent, ThreadClient } from '../support/agent-runs.js';
import type { TestApp } from '../support/app.js';
import { connectTo } from '../support/proxy-connections.js';
import { RedisProcess } from '../support/redis-process.js';
import { redisServerCommand } from '../support/redis-server.js';
import { ServiceProcess } from '../support/service-process.js';
import { stopProcess } from '../support/stop-process.js';
import { startTcpProxy, type TcpProxy, through } from '../support/tcp-proxy.js';
import { startToolServer } from '../support/tool-server.js';
import { HEAP_PROBE_OPTION, probeHeap } from './harness.js';
import { MCP, OPENING, send, type World } from './request-kinds.js';

/** What piles up without a bound ends the process. */
const HEAP_MIB = 256;
const EMAIL = 'owner@example.com';

/** A store of the target's own. */
export interface OutageStore {
  /** Stands between the service and the store. */
  readonly relay: TcpProxy;
  /** Stops the processes of the server; returns the function that lets them continue. */
  stop(): Promise<() => void>;
}

/**
 * The built service as a process of its own, on stores of its own, with something of every kind that requests can refer
 * to.
 */
export interface OutageTarget {
  readonly world: World;
  readonly service: ServiceProcess;
  readonly stores: { readonly database: OutageStore; readonly redis?: OutageStore };
  thread(): Promise<ThreadClient>;
  /** What the service holds after a collection of garbage, in MiB. */
  usedMib(): Promise<number>;
  /** How many files and connections the service has open. */
  descriptors(): number;
  close(): Promise<void>;
}

/** Starts a target, with queue and streams on Redis if `redis` is true. Needs a current build in `dist`. */
export async function startOutageTarget({ redis: hasRedis }: { redis: boolean }): Promise<OutageTarget> {
  const folder = await mkdtemp(join(tmpdir(), 'signalbox-outage-'));
  const postgres = await startPostgres(join(folder, 'data'));
  const redis = hasRedis ? await RedisProcess.start(redisServerCommand() ?? 'redis-server') : undefined;
  const toDatabase = await startTcpProxy(postgres.url);
  const redisUrl = `redis://127.0.0.1:${redis?.port}`;
  const toRedis = redis && (await startTcpProxy(redisUrl));
  const upstream = await startToolServer('echo');
  const apiKey = generateApiKey();
  const service = new ServiceProcess({
    DATABASE_URL: through(toDatabase, postgres.url),
    ...(toRedis && { REDIS_URL: through(toRedis, redisUrl) }),
    ENCRYPTION_KEYS: generateEncryptionKey('outage'),
    BOOTSTRAP_API_KEY: apiKey,
    BOOTSTRAP_OWNER_EMAIL: EMAIL,
    BOOTSTRAP_OWNER_PASSWORD: PASSWORD,
    UPSTREAM_ALLOW_PRIVATE: 'true',
    LOG_LEVEL: 'error',
    // Without the database no credential can be verified, so no caller counts as authenticated, and all have one
    // address here.
    MAX_UNAUTHENTICATED_CONNECTIONS: '4000',
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB} ${HEAP_PROBE_OPTION}`,
  });
  const { url } = await service.listening();
  const target = clientOf(url, apiKey);
  const connectionId = await connectTo(target, upstream.url);
  const agentId = await createAgent(target, [connectionId]);
  const thread = await ThreadClient.create(target, agentId);
  const { taskId, ids } = await thread.ask('hello');
  const endpoint = `${url}/api/default/mcp/${connectionId}`;
  const browser = new Browser(url);
  await browser.signIn(EMAIL);
  const { access_token: token } = await new McpOauthClient().authorize(endpoint, browser);
  const headers = { ...MCP, authorization: `Bearer ${apiKey}` };
  const opened = await send(endpoint, { method: 'POST', body: OPENING, headers });
  const world: World = {
    url,
    apiKey,
    agentId,
    connectionId,
    sessionId: String(opened.headers['mcp-session-id']),
    threadId: thread.id,
    taskId,
    frameId: ids[1] ?? '',
    token,
    cookie: [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
  };
  const postmaster = async (): Promise<number> =>
    Number((await readFile(join(folder, 'data', 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);
  return {
    world,
    service,
    stores: {
      database: { relay: toDatabase, stop: async () => stopProcess(await postmaster()) },
      ...(redis && toRedis && { redis: { relay: toRedis, stop: async () => stopProcess(redis.pid) } }),
    },
    thread: () => ThreadClient.create(target, agentId),
    usedMib: async () => (await probeHeap(service)) / 2 ** 20,
    descriptors: () => readdirSync(`/proc/${service.pid}/fd`).length,
    close: async () => {
      if (!service.hasEnded) await service.kill('SIGTERM');
      await Promise.all([toDatabase.close(), toRedis?.close(), upstream.close()]);
      await Promise.all([redis?.stop(), postgres.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** What the clients of threads use of a `TestApp`. */
function clientOf(url: string, apiKey: string): TestApp {
  const client: Pick<TestApp, 'url' | 'org' | 'apiKey' | 'tool'> = {
    url,
    org: 'default',
    apiKey,
    tool: (name, body = {}, key = apiKey) =>
      supertest(url).post(`/api/default/tools/${name}`).set('authorization', `Bearer ${key}`).send(body),
  };
  return client as TestApp;
}
