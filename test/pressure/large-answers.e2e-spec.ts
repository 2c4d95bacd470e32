import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import supertest from 'supertest';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { eventually } from '../support/eventually.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { rpc, TAKES_JSON, TAKES_STREAMS, toolCall } from '../support/proxy-calls.js';
import {
  JSON_TYPE,
  legacyServer,
  type RpcMessage,
  type ScriptedServer,
  sendJson,
  SSE_TYPE,
  startScripted,
} from '../support/scripted-upstream.js';
import { ServiceProcess } from '../support/service-process.js';

const CALLERS = 100;
/** At most 8 MiB can be collected into one body. */
const PIECE = 'x'.repeat(64 * 1024);
const PIECES = 127;
const ANSWER_BYTES = PIECE.length * PIECES;
/** All answers together would be 800 MiB, and several times that with the copies that parsing makes. */
const GROWTH_MIB = 320;
const START_MS = 120_000;
/** For a busy machine: nothing here depends on its speed. */
jest.setTimeout(240_000);
/** An idle connection could be closed at the moment at which it is used again. */
const CLOSE = { connection: 'close' };
const TOOLS = ['json', 'events'].map((name) => ({ name, inputSchema: { type: 'object' } }));

let database: TestDatabase;
let upstream: ScriptedServer;
let service: ServiceProcess;
let url: string;
let connectionId: string;
let agentId: string;
let limitedKey: string;
let isListLarge = false;
const apiKey = generateApiKey();
const agent = new Agent({ maxSockets: Infinity });

beforeAll(async () => {
  const { script } = legacyServer(async ({ message }, response) => {
    const { id, method } = message;
    const result = { tools: isListLarge ? [...TOOLS, ...largeList()] : TOOLS };
    if (method === 'tools/list') sendJson(response, { jsonrpc: '2.0', id, result }, CLOSE);
    else await sendPieces(response, message);
  });
  [database, upstream] = await Promise.all([createTestDatabase(), startScripted(script)]);
  service = new ServiceProcess({
    DATABASE_URL: database.url,
    ENCRYPTION_KEYS: generateEncryptionKey('pressure'),
    BOOTSTRAP_API_KEY: apiKey,
    UPSTREAM_ALLOW_PRIVATE: 'true',
    ROLE: 'api',
    LOG_LEVEL: 'error',
    NODE_OPTIONS: '--max-old-space-size=256',
    ANSWER_MEMORY_MB: '48',
  });
  ({ url } = await service.listening());
  const connection = { title: 'Upstream', connection_type: 'HTTP', connection_url: upstream.url };
  connectionId = (await tool('COLLECTION_CONNECTIONS_CREATE', { data: connection })).item.id;
  const agentData = { title: 'Agent', connections: [{ connection_id: connectionId }] };
  agentId = (await tool('COLLECTION_VIRTUAL_MCP_CREATE', { data: agentData })).item.id;
  const permissions = { [connectionId]: ['json', 'events'] };
  limitedKey = (await tool('API_KEY_CREATE', { name: 'limited', permissions })).key as unknown as string;
  // Warm: code that was never run grows the process too.
  for (const name of ['json', 'events']) await read(await call(toolCall(name)));
}, START_MS);

afterAll(async () => {
  agent.destroy();
  await service?.kill('SIGTERM');
  await upstream?.close();
  await database?.drop();
});

async function tool(name: string, input: object): Promise<Record<string, { id: string }> & { item: { id: string } }> {
  const answer = await supertest(url)
    .post(`/api/default/tools/${name}`)
    .set('authorization', `Bearer ${apiKey}`)
    .send(input);
  expect(answer.status).toBe(200);
  return answer.body;
}

function largeList(): object[] {
  const inputSchema = { type: 'object' };
  return Array.from({ length: 500 }, (_, n) => ({ name: `tool-${n}`, description: 'd'.repeat(15_000), inputSchema }));
}

async function sendPieces(response: ServerResponse, { id, params }: RpcMessage): Promise<void> {
  const isStream = params?.['name'] === 'events';
  const closed = once(response, 'close').catch(() => undefined);
  response.on('error', () => undefined).writeHead(200, { ...(isStream ? SSE_TYPE : JSON_TYPE), ...CLOSE });
  response.write(
    `${isStream ? 'data: ' : ''}{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`,
  );
  for (let i = 0; i < PIECES && !response.destroyed; i++) {
    if (!response.write(PIECE)) await Promise.race([once(response, 'drain').catch(() => undefined), closed]);
  }
  response.end(`"}]}}${isStream ? '\n\n' : ''}`);
}

interface Call {
  path?: string;
  key?: string;
  headers?: Record<string, string>;
}

/** The response to a call, of which nothing is read yet. */
async function call(
  body: object,
  { path = connectionId, key = apiKey, headers = TAKES_JSON }: Call = {},
): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url);
  const authorization = `Bearer ${key}`;
  const request = openRequest({
    hostname,
    port,
    agent,
    method: 'POST',
    path: `/api/default/mcp/${path}`,
    headers: { authorization, 'content-type': 'application/json', ...headers },
  });
  request.end(JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

interface Answer {
  status: number | undefined;
  bytes: number;
  text: string;
  isStream: boolean;
  retryAfter: string | undefined;
}

/** The size of an answer, and its text if it is short. */
async function read(response: IncomingMessage): Promise<Answer> {
  let bytes = 0;
  let text = '';
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes < 4_096) text += chunk.toString('latin1');
  }
  const { statusCode: status, headers } = response;
  const isStream = headers['content-type'] === SSE_TYPE['content-type'];
  return { status, bytes, text, isStream, retryAfter: headers['retry-after'] };
}

/** The resident memory of the service in MiB: now, or at its peak since the last reset. */
function resident(what: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${service.pid}/status`, 'utf8');
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
}

/** Does the work, and expects that it does not make the service grow much beyond the largest size before. */
let baseline = 0;
async function withinMemory<T>(work: () => Promise<T>): Promise<T> {
  baseline = Math.max(baseline, resident('VmRSS'));
  writeFileSync(`/proc/${service.pid}/clear_refs`, '5');
  const result = await work();
  expect(service.hasEnded).toBe(false);
  expect(resident('VmHWM')).toBeLessThan(baseline + GROWTH_MIB);
  return result;
}

/** Every answer is complete, or a refusal: a response of its own, or the last event of a stream. */
function expectServedOrRefused(answers: readonly Answer[], isServed: (answer: Answer) => boolean): void {
  const refused = answers.filter((answer) => !isServed(answer));
  expect(refused.length).toBeLessThan(answers.length);
  for (const { status, text, isStream, retryAfter } of refused) {
    // The last: a process that hardly gets processor time gives up a statement or a handshake with the database.
    expect(text).toMatch(/answer_memory_exhausted|upstream_busy|storage_unavailable/);
    if (!isStream) expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: expect.any(String) });
  }
}

const isWhole = ({ status, bytes }: Answer): boolean => status === 200 && bytes > ANSWER_BYTES;

function expectWhole(answer: Answer): void {
  expect(isWhole(answer) || answer).toBe(true);
}

// Peaks are read from /proc.
describe(`${CALLERS} callers at once with answers of 8 MiB`, () => {
  const forms: [string, string, () => Call][] = [
    ['a JSON body, for a limited key', 'json', () => ({ key: limitedKey })],
    ['an event stream, for a limited key', 'events', () => ({ headers: TAKES_STREAMS, key: limitedKey })],
    ['an event stream as one body, through an agent', 'events', () => ({ path: `gateway/${agentId}` })],
  ];

  it.each(forms)('are served or refused within bounded memory: %s', async (_form, name, options) => {
    const answers = await withinMemory(() =>
      Promise.all(Array.from({ length: CALLERS }, async () => read(await call(toolCall(name), options())))),
    );
    expectServedOrRefused(answers, isWhole);
    expectWhole(await read(await call(toolCall(name), options())));
  });

  it('are served or refused within bounded memory: filtered lists', async () => {
    isListLarge = true;
    const list = async (): Promise<Answer> => read(await call(rpc('tools/list'), { key: limitedKey }));
    const answers = await withinMemory(() => Promise.all(Array.from({ length: CALLERS / 2 }, list)));
    isListLarge = false;
    expectServedOrRefused(answers, ({ status, text }) => status === 200 && text.includes('"tools"'));
  });

  it('are served or refused within bounded memory: lists of an agent, of which nothing is read', async () => {
    isListLarge = true;
    const connection = { title: 'Large', connection_type: 'HTTP', connection_url: upstream.url };
    const { id } = (await tool('COLLECTION_CONNECTIONS_CREATE', { data: connection })).item;
    const data = { title: 'Agent of large lists', connections: [{ connection_id: id }] };
    const path = `gateway/${(await tool('COLLECTION_VIRTUAL_MCP_CREATE', { data })).item.id}`;
    const whole = { status: 200, bytes: (await read(await call(rpc('tools/list'), { path }))).bytes };
    expect(whole.bytes).toBeGreaterThan(7_000_000);
    await withinMemory(async () => {
      const responses = await Promise.all(Array.from({ length: CALLERS }, () => call(rpc('tools/list'), { path })));
      const statuses = responses.map(({ statusCode }) => statusCode);
      expect(new Set(statuses)).toEqual(new Set([200, 503]));
      for (const response of responses) response.destroy();
    });
    await eventually(async () => expect(await read(await call(rpc('tools/list'), { path }))).toMatchObject(whole));
    isListLarge = false;
  });

  it('are not taken by those who asked for them: others are answered', async () => {
    const answer = { headers: TAKES_STREAMS, key: limitedKey };
    await withinMemory(async () => {
      const asked = Array.from({ length: CALLERS }, () => call(toolCall('events'), answer));
      const responses = await Promise.all(asked);
      for (const response of responses) expect([200, 503]).toContain(response.statusCode);
      // Another key has its own share.
      expectWhole(await read(await call(toolCall('json'))));
      for (const response of responses) response.destroy();
    });
    expectWhole(await read(await call(toolCall('events'), answer)));
  });
});
