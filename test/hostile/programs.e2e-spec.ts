import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HostileTarget, startHostileTarget } from './harness.js';

const SERVER = fileURLToPath(new URL('../support/stdio-fixtures/hostile-server.mjs', import.meta.url));
const ATTACK_MS = 4_000;

describe('programs', () => {
  let target: HostileTarget;
  let connectionId: string;

  beforeAll(async () => {
    target = await startHostileTarget({ env: { STDIO_COMMANDS: 'node', STDIO_MAX_PROCESSES: '8' } });
    connectionId = await connect();
  }, 180_000);

  afterAll(() => target?.close());

  async function connect(...args: string[]): Promise<string> {
    const data = { title: 'Hostile', connection_type: 'STDIO', stdio: { command: 'node', args: [SERVER, ...args] } };
    const { body } = await target.tool('COLLECTION_CONNECTIONS_CREATE', { data });
    return (body as { item: { id: string } }).item.id;
  }

  /**
   * Without a credential unless there is a key. The answer's body is read away; the service may end it before the time
   * is up.
   */
  async function post(
    method: string,
    params: object,
    { key, session, connection = connectionId }: { key?: string; session?: string; connection?: string } = {},
  ): Promise<{ status: number; session: string | null; text: string } | undefined> {
    const answer = await fetch(new URL(`/api/default/mcp/${connection}`, target.url), {
      method: 'POST',
      signal: AbortSignal.timeout(ATTACK_MS),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    }).catch(() => undefined);
    if (answer === undefined) return undefined;
    const text = await answer.text().catch(() => '');
    return { status: answer.status, session: answer.headers.get('mcp-session-id'), text };
  }

  const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const call = (name: string, args: object, caller: { key?: string; session?: string; connection?: string } = {}) =>
    post('tools/call', { name, arguments: args }, caller);

  async function openSession(key: string): Promise<{ key: string; session: string }> {
    const answer = await post('initialize', HELLO, { key });
    return { key, session: answer?.session ?? '' };
  }

  it('are not used up by callers without a credential', async () => {
    await target.withstands(async () => {
      const opened = await Promise.all(Array.from({ length: 64 }, () => post('initialize', HELLO)));
      expect(opened.map((answer) => answer?.status)).toEqual(opened.map(() => 200));
      const own = await openSession(target.apiKey);
      expect((await call('pid', {}, own))?.status).toBe(200);
    });
  });

  it('are not used up by one key, whose sessions are all busy', async () => {
    const answer = await target.tool('API_KEY_CREATE', { name: 'greedy', permissions: { '*': ['*'] } });
    const { key } = answer.body as { key: string };
    await target.withstands(async () => {
      const sessions = await Promise.all(Array.from({ length: 32 }, () => openSession(key)));
      const busy = sessions.map((session) => call('never', {}, session));
      const own = await openSession(target.apiKey);
      expect((await call('pid', {}, own))?.text).toContain('result');
      await Promise.all(busy);
    });
  });

  it('hold up nobody by answers that are costly to parse', async () => {
    await target.withstands(async () => {
      for (let round = 0; round < 4; round++) {
        await Promise.all([call('values', { count: 6_000_000 }), call('deep', { depth: 6_000 })]);
      }
    });
  });

  it.each(['flood', 'pour', 'complain'])('hold up nobody by a %s without end', async (tool) => {
    const connection = await connect();
    await target.withstands(async () => {
      const sessions = await Promise.all([openSession(target.apiKey), openSession(target.apiKey)]);
      const calls = sessions.map((session) => call(tool, {}, session));
      await Promise.all([...calls, call(tool, {}, { connection }), sleep(ATTACK_MS)]);
    });
    // It is ended with its connection.
    await target.tool('COLLECTION_CONNECTIONS_DELETE', { id: connection });
  });

  it('hold up nobody when they crash or keep silent at their start', async () => {
    const [crashing, mute] = await Promise.all([connect('--crash'), connect('--mute')]);
    await target.withstands(async () => {
      const key = target.apiKey;
      const attempts = [crashing, mute].flatMap((connection) =>
        Array.from({ length: 24 }, () => post('initialize', HELLO, { key, connection })),
      );
      await Promise.all(attempts);
    });
  });
});
