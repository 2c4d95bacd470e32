import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateEncryptionKey } from '../../dist/core/config/encryption-keys.js';
import { QUESTION } from './answer.mjs';
import { Child, COLLECTABLE } from './child.mjs';
import { postJson } from './http-client.mjs';

const THIS_CHECKOUT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Starts the built service as one process for HTTP and runs, with an agent on the built-in model.
 * @param {{ dataDir: string, apiKey: string, databaseUrl?: string, redisUrl?: string, checkout?: string,
 *   env?: NodeJS.ProcessEnv, nodeArgs?: string[] }} options
 * `checkout`: another one whose build to start; `env`: further settings; `nodeArgs`: further arguments of Node
 * @returns `api` is the URL of the organization, `listensAfterMs` the time from the start of the process
 */
export async function startService(options) {
  const { dataDir, apiKey, databaseUrl, redisUrl, checkout = THIS_CHECKOUT, env, nodeArgs = [] } = options;
  const startedAt = performance.now();
  const child = new Child(process.execPath, [...COLLECTABLE, ...nodeArgs, join(checkout, 'dist/main.js')], {
    NODE_ENV: 'production',
    LOG_LEVEL: 'warn',
    ROLE: 'all',
    PORT: '0',
    METRICS_PORT: '0',
    DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    ENCRYPTION_KEYS: databaseUrl && generateEncryptionKey('bench'),
    REDIS_URL: redisUrl,
    BASE_URL: undefined,
    HOST: undefined,
    BOOTSTRAP_ORG: undefined,
    BOOTSTRAP_API_KEY: apiKey,
    ...env,
  });
  const url = await child.line(/listens on (\S+)/);
  const listensAfterMs = performance.now() - startedAt;
  const api = `${url}/api/default`;
  const headers = { authorization: `Bearer ${apiKey}` };
  const tool = (name, data) => postJson(`${api}/tools/${name}`, headers, { data });
  const { item: agent } = await tool('COLLECTION_VIRTUAL_MCP_CREATE', { title: 'Benchmark' });
  const body = { messages: [{ role: 'user', parts: [{ type: 'text', text: QUESTION }] }], agent: { id: agent.id } };
  return {
    url,
    api,
    listensAfterMs,
    pid: child.pid,
    headers,
    body,
    async newThread() {
      const { item } = await tool('COLLECTION_THREADS_CREATE', { title: 'Benchmark', virtual_mcp_id: agent.id });
      const thread = `${api}/agent-runtime/threads/${item.id}`;
      return { messages: `${thread}/messages`, stream: `${thread}/stream?follow=true` };
    },
    stop: () => child.stop(),
  };
}
