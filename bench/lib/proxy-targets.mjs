import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { generateApiKey } from '../../dist/core/api-key-value.js';
import { attachEmbeddedPostgres } from '../../dist/platform/embedded-postgres/embedded-postgres.js';
import { findFreePort } from '../../dist/platform/embedded-postgres/server.js';
import { Child } from './child.mjs';
import { postmasterOf } from './databases.mjs';
import { postJson } from './http-client.mjs';
import { UPSTREAM_KINDS } from './upstream-kinds.mjs';

/** Signs in for the target with an OAuth token. */
export const OWNER = { email: 'owner@example.com', password: 'benchmark passphrase 31' };

const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;
/** Headers of every caller, for all targets. */
export const MCP_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2025-11-25',
};

/**
 * @typedef {{ url: string, headers: Record<string, string> }} Endpoint
 * @typedef {Endpoint & { endpoints?: Endpoint[], pid: number, databasePid?: number, certificate?: string }} Target
 * the URL to call, its headers, or several that are called in turn, the process whose CPU time is measured, and the
 * file of the certificate to trust
 */
/** @typedef {Target & { stop: () => Promise<void> }} Upstream */

/** The checkout that contains this benchmark. */
export const THIS_CHECKOUT = pathOf('../..');

/**
 * @param {string} kind a key of `UPSTREAM_KINDS`
 * @param {{ tools?: string, identity?: { certificate: string, key: string } }} options comma-separated tools (`echo`);
 *   files for TLS
 * @returns {Promise<Upstream>}
 */
export async function startUpstream(kind, { tools = 'echo', identity } = {}) {
  const { file, args, tls = false } = UPSTREAM_KINDS[kind];
  const files = tls ? [identity.certificate, identity.key] : [];
  const child = new Child(process.execPath, [pathOf(file), ...args(tools), ...files], { NODE_ENV: 'production' });
  const url = `${await child.line(/^listening on (\S+)/)}/mcp`;
  const target = { url, pid: child.pid, ...(tls && { certificate: identity.certificate }), stop: () => child.stop() };
  return { ...target, headers: await sessionHeaders(target) };
}

/**
 * Starts the bare pass-through with a connection to each upstream.
 * @param {Record<string, Upstream>} upstreams
 * @param {string[]} tools that its callers can call
 * @returns {Promise<{ targets: Record<string, Target>, stop: () => Promise<void> }>} a target for each upstream
 */
export async function startBare(upstreams, tools = ['echo']) {
  const key = generateApiKey();
  const connections = [];
  for (const upstream of Object.values(upstreams)) {
    const { 'mcp-session-id': session } = await sessionHeaders(upstream);
    connections.push({ id: randomUUID(), url: upstream.url, session });
  }
  const certificate = certificateOf(upstreams);
  const config = JSON.stringify({ key, tools, certificate, connections });
  const child = new Child(process.execPath, [pathOf('proxy-bare.mjs'), config], { NODE_ENV: 'production' });
  const origin = await child.line(/^listening on (\S+)/);
  const headers = { ...MCP_HEADERS, authorization: `Bearer ${key}` };
  const targets = Object.keys(upstreams).map((kind, i) => [
    kind,
    { url: `${origin}/api/default/mcp/${connections[i].id}`, headers, pid: child.pid },
  ]);
  return { targets: Object.fromEntries(targets), stop: () => child.stop() };
}

/**
 * Starts the built service with all features on, as in production: embedded PostgreSQL, and the log at level info in a
 * file. It has a connection to each upstream, and the key of the callers has a grant on one tool of each.
 * @param {Record<string, Upstream>} upstreams
 * @param {string} folder holds the data and the log; must exist
 * @param {{ nodeArgs?: string[], checkout?: string, env?: NodeJS.ProcessEnv }} options arguments for Node; another
 * checkout whose build to start; further settings
 * @returns {Promise<{ targets: Record<string, Target>, origin: string, pid: number, records: object, stop: () =>
 *   Promise<void> }>} a target for each upstream; `records` has the places where the service records calls
 */
export async function startOurs(upstreams, folder, { nodeArgs = [], checkout = THIS_CHECKOUT, env } = {}) {
  const bootstrapKey = generateApiKey();
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const dataDir = join(folder, 'data');
  const logFile = join(folder, 'service.log');
  const log = openSync(logFile, 'a', 0o600);
  const certificate = certificateOf(upstreams);
  const child = spawn(process.execPath, [...nodeArgs, join(checkout, 'dist/main.js')], {
    stdio: ['ignore', log, 'inherit'],
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      ...(certificate !== undefined && { NODE_EXTRA_CA_CERTS: certificate }),
      LOG_LEVEL: 'info',
      PORT: String(port),
      METRICS_PORT: String(metricsPort),
      DATA_DIR: dataDir,
      BOOTSTRAP_API_KEY: bootstrapKey,
      BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      ...env,
    },
  });
  const stop = () => stopProcess(child);
  try {
    const origin = `http://127.0.0.1:${port}`;
    await ready(child, origin);
    const tools = `${origin}/api/default/tools`;
    const bootstrapHeaders = { authorization: `Bearer ${bootstrapKey}` };
    const { connectionIds, key } = await setUp(tools, bootstrapHeaders, upstreams);
    const databasePid = await postmasterOf((await attachEmbeddedPostgres(dataDir)).url);
    const headers = { ...MCP_HEADERS, authorization: `Bearer ${key}` };
    const targets = Object.entries(connectionIds).map(([kind, id]) => [
      kind,
      { url: `${origin}/api/default/mcp/${id}`, headers, pid: child.pid, databasePid },
    ]);
    const records = { tools, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`, logFile, bootstrapHeaders };
    return { targets: Object.fromEntries(targets), origin, pid: child.pid, records, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function certificateOf(upstreams) {
  return Object.values(upstreams).find(({ certificate }) => certificate !== undefined)?.certificate;
}

/** Creates a connection to each upstream, and a key that can call only one tool of each. */
async function setUp(tools, headers, upstreams) {
  const tool = (name, body) => postJson(`${tools}/${name}`, headers, body);
  const connectionIds = {};
  for (const [kind, { url }] of Object.entries(upstreams)) {
    const { item } = await tool('COLLECTION_CONNECTIONS_CREATE', {
      data: {
        connection_type: 'HTTP',
        title: `Benchmark ${kind}`,
        connection_url: url,
        connection_token: 'upstream',
        connection_headers: { headers: { 'x-benchmark': 'yes' } },
      },
    });
    connectionIds[kind] = item.id;
  }
  const permissions = Object.fromEntries(Object.values(connectionIds).map((id) => [id, ['echo']]));
  const { key } = await tool('API_KEY_CREATE', { name: 'benchmark', permissions });
  return { connectionIds, key };
}

/** Opens a session of the upstream, if it has sessions. */
async function sessionHeaders({ url, certificate }) {
  const params = {
    protocolVersion: MCP_HEADERS['mcp-protocol-version'],
    capabilities: {},
    clientInfo: { name: 'benchmark', version: '1' },
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const dispatcher = new Agent({ connect: certificate === undefined ? {} : { ca: readFileSync(certificate) } });
  try {
    const answer = await request(url, { method: 'POST', headers: MCP_HEADERS, body, dispatcher });
    await answer.body.dump();
    const session = answer.headers['mcp-session-id'];
    return session === undefined ? MCP_HEADERS : { ...MCP_HEADERS, 'mcp-session-id': session };
  } finally {
    await dispatcher.close();
  }
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
