import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { describe, expect, it } from '@jest/globals';
import type { LogLevel } from '../contract/log-level.js';
import type { SessionTransport } from '../contract/session-transport.js';
import { McpSession } from './mcp-session.js';

const SERVER = {
  protocolVersion: '2025-11-25',
  capabilities: { logging: {} },
  serverInfo: { name: 'a', version: '1' },
};

/** An upstream of the legacy era with a log, whose answers about levels the test gives. */
class LoggingUpstream implements SessionTransport {
  readonly sessionId = undefined;
  readonly hasEnded = false;
  readonly fault = undefined;
  onmessage?: NonNullable<Transport['onmessage']>;
  /** The levels that it was asked for. */
  readonly levels: unknown[] = [];
  private latest: unknown;

  async start(): Promise<void> {}
  async close(): Promise<void> {}
  async terminateSession(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message) || !('id' in message)) return;
    this.latest = message.id;
    if (message.method === 'initialize') this.answer({ result: SERVER });
    else this.levels.push(message.params?.['level']);
  }

  /** Answers the latest request. */
  answer(answer: object): void {
    this.onmessage?.({ jsonrpc: '2.0', id: this.latest, ...answer } as JSONRPCMessage);
  }
}

async function open() {
  const upstream = new LoggingUpstream();
  const session = await McpSession.open(upstream, AbortSignal.timeout(30_000), { mode: 'legacy' });
  const require = (level: LogLevel, signal = new AbortController().signal): Promise<void> =>
    session.requireLogLevel(level, { signal, timeoutMs: 30_000 });
  return { upstream, require };
}

describe('the log level of a session', () => {
  it('is there once a request for it is answered, however many want it', async () => {
    const { upstream, require } = await open();
    const settled: LogLevel[] = [];
    const all = (['info', 'error', 'debug', 'info'] as const).map(async (level) => {
      await require(level);
      settled.push(level);
    });
    await setImmediate();
    expect([upstream.levels, settled]).toEqual([['info'], []]);
    upstream.answer({ result: {} });
    await setImmediate();
    expect([upstream.levels, settled]).toEqual([
      ['info', 'debug'],
      ['info', 'error'],
    ]);
    upstream.answer({ result: {} });
    await Promise.all(all);
    expect(upstream.levels).toHaveLength(2);
  });

  it('is asked for again if it is not known whether the upstream has it, unlike one that it refuses', async () => {
    const { upstream, require } = await open();
    const gone = new AbortController();
    const first = require('info', gone.signal);
    await setImmediate();
    gone.abort();
    await expect(first).rejects.toThrow();
    const second = require('info');
    await setImmediate();
    expect(upstream.levels).toEqual(['info', 'info']);
    upstream.answer({ error: { code: -32602, message: 'There is no log' } });
    await second;
    await require('info');
    expect(upstream.levels).toHaveLength(2);
  });
});
