import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from 'pg';
import { generateApiKey } from '../../dist/common/api-key-value.js';
import { attachEmbeddedPostgres } from '../../dist/embedded-postgres/embedded-postgres.js';
import { findFreePort } from '../../dist/embedded-postgres/server.js';
import { Child } from './child.mjs';
import { postJson } from './http-client.mjs';

/** Signs in for the target with an OAuth token. */
export const OWNER = { email: 'owner@example.com', password: 'benchmark passphrase 31' };

const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;
/** Headers of every caller, for all targets. */
const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

/**
 * @typedef {{ url: string, headers: Record<string, string>, pid: number, stop: () => Promise<void> }} Target
 * the URL to call, its headers, and the process whose CPU time is measured; the service also has `databasePid`, and `records`
 * with the places where it records calls
 */

/** The checkout that contains this benchmark. */
export const THIS_CHECKOUT = pathOf('../..');

/**
 * @param {'bare' | 'sdk'} kind a minimal MCP server, which answers with JSON; or a server on the official SDK, which answers with
 * event streams
 * @returns {Promise<Target>}
 */
export async function startUpstream(kind = 'bare') {
  const file = kind === 'sdk' ? 'proxy-sdk-upstream.mjs' : 'proxy-upstream.mjs';
  const child = new Child(process.execPath, [pathOf(file)], { NODE_ENV: 'production' });
  const url = `${await child.line(/^listening on (\S+)/)}/mcp`;
  return { url, headers: await sessionHeaders(url), pid: child.pid, stop: () => child.stop() };
}

/** @returns {Promise<Target>} */
export async function startBare(upstream) {
  const connectionId = randomUUID();
  const key = generateApiKey();
  const { 'mcp-session-id': session } = await sessionHeaders(upstream.url);
  const args = [pathOf('proxy-bare.mjs'), upstream.url, session, connectionId, key];
  const child = new Child(process.execPath, args, { NODE_ENV: 'production' });
  const origin = await child.line(/^listening on (\S+)/);
  return {
    url: `${origin}/api/default/mcp/${connectionId}`,
    headers: { ...MCP_HEADERS, authorization: `Bearer ${key}` },
    pid: child.pid,
    stop: () => child.stop(),
  };
}

/**
 * Starts the built service with all features on, as in production: embedded PostgreSQL, and the log at level info in a file.
 * The key of the callers has a grant on one tool of one connection.
 * @param {string} folder holds the data and the log; must exist
 * @param {{ nodeArgs?: string[], checkout?: string }} options arguments for Node; another checkout whose build to start
 * @returns {Promise<Target>}
 */
export async function startOurs(upstream, folder, { nodeArgs = [], checkout = THIS_CHECKOUT } = {}) {
  const bootstrapKey = generateApiKey();
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const dataDir = join(folder, 'data');
  const logFile = join(folder, 'service.log');
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [...nodeArgs, join(checkout, 'dist/main.js')], {
    stdio: ['ignore', log, 'inherit'],
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      LOG_LEVEL: 'info',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: dataDir,
      BOOTSTRAP_API_KEY: bootstrapKey,
      BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    },
  });
  const stop = () => stopProcess(child);
  try {
    const origin = `http://127.0.0.1:${port}`;
    await ready(child, origin);
    const tools = `${origin}/api/default/tools`;
    const bootstrapHeaders = { authorization: `Bearer ${bootstrapKey}` };
    const { connectionId, key } = await setUp(tools, bootstrapHeaders, upstream.url);
    const databasePid = await postmasterOf(dataDir);
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${key}` };
    const url = `${origin}/api/default/mcp/${connectionId}`;
    const records = { tools, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, logFile, bootstrapHeaders };
    return { url, headers, pid: child.pid, databasePid, records, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Returns the process id of the embedded server's postmaster, the parent of all its sessions. */
async function postmasterOf(dataDir) {
  const { url } = await attachEmbeddedPostgres(dataDir);
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(`SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)::int AS pid`);
    return rows[0].pid;
  } finally {
    await client.end();
  }
}

/** Creates a connection to the upstream, and a key that can call only its tool. */
async function setUp(tools, headers, upstreamUrl) {
  const tool = (name, body) => postJson(`${tools}/${name}`, headers, body);
  const { item: connection } = await tool('COLLECTION_CONNECTIONS_CREATE', {
    data: {
      connection_type: 'HTTP',
      title: 'Benchmark',
      connection_url: upstreamUrl,
      connection_token: 'upstream',
      connection_headers: { headers: { 'x-benchmark': 'yes' } },
    },
  });
  const { key } = await tool('API_KEY_CREATE', { name: 'benchmark', permissions: { [connection.id]: ['echo'] } });
  return { connectionId: connection.id, key };
}

/** Opens a session of the upstream. */
async function sessionHeaders(url) {
  const params = {
    protocolVersion: MCP_HEADERS['mcp-protocol-version'],
    capabilities: {},
    clientInfo: { name: 'benchmark', version: '1' },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const answer = await fetch(url, { method: 'POST', headers: MCP_HEADERS, body });
  await answer.arrayBuffer();
  return { ...MCP_HEADERS, 'mcp-session-id': answer.headers.get('mcp-session-id') };
}

async function ready(child, origin) {
  const giveUpAt = Date.now() + START_WITHIN_MS;
  while (Date.now() < giveUpAt) {
    if (child.exitCode !== null) throw new Error(`The service exited with code ${child.exitCode}.`);
    const answer = await fetch(`${origin}/health/ready`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return;
    await sleep(100);
  }
  throw new Error('The service did not become ready.');
}

async function stopProcess(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
  await gone;
  clearTimeout(timer);
}

function pathOf(file) {
  return fileURLToPath(new URL(file, import.meta.url));
}
