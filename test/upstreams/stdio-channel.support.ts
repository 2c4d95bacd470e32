import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type AnswerBody, chunksOf } from '../../src/upstreams/messages/answer-body.js';
import type {
  OutgoingMessage,
  UpstreamAnswer,
  UpstreamChannel,
} from '../../src/upstreams/messages/upstream-channel.js';
import type { KeyLimit } from '../../src/core/limits.js';
import { AnswerBudget } from '../../src/core/answers/answer-budget.js';
import { AnswerRooms } from '../../src/core/answers/answer-room.js';
import { type StdioLimits, StdioProcesses } from '../../src/upstreams/stdio/stdio-processes.js';
import { StdioSessions } from '../../src/upstreams/stdio/stdio-sessions.js';
import type { StdioTarget } from '../../src/upstreams/contract/upstream-target.js';

export const MINI = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));

const LIMITS: StdioLimits = {
  maxProcesses: 8,
  idleMs: 60_000,
  maxMemoryBytes: 512 * 2 ** 20,
  environment: { PATH: process.env['PATH'] ?? '' },
  hasOthers: async () => false,
  rooms: new AnswerRooms(new AnswerBudget()),
};

interface Message {
  id?: string | number;
  method?: string;
  result?: { content?: { text: string }[]; [name: string]: unknown };
  error?: { code: number; message: string };
}

/** Starts the sessions of each test without logs, and ends their processes after it. */
export function useStdioSessions() {
  Logger.overrideLogger(false);

  let processes: StdioProcesses;
  let sessions: StdioSessions;

  function start(limits: Partial<StdioLimits> = {}): void {
    processes = new StdioProcesses({ ...LIMITS, ...limits });
    sessions = new StdioSessions(processes);
  }

  beforeEach(() => start());
  afterEach(() => processes.onApplicationShutdown());

  async function opened(
    key = 'session',
    of = target(),
    capabilities: object = {},
    callerId = key,
    keyLimits: readonly KeyLimit[] = [],
  ): Promise<UpstreamChannel> {
    const caller = { callerId, kind: 'api_key' as const, credentialId: callerId, keyLimits };
    const channel = sessions.channel({ key, caller }, of);
    expect(await json(send(channel, initialize(capabilities)))).toMatchObject({ id: 'init', result: {} });
    expect(await send(channel, INITIALIZED)).toMatchObject({ status: 202, contentType: undefined });
    return channel;
  }

  return {
    get sessions() {
      return sessions;
    },
    /** Starts anew with other limits. */
    start,
    opened,
  };
}

export function target(args: readonly string[] = [MINI], rest: Partial<StdioTarget> = {}): StdioTarget {
  const identity = { connectionId: 'c', revision: '1', timeoutMs: 20_000 };
  return { kind: 'stdio', organizationId: 'o', ...identity, command: 'node', args, env: {}, cwd: '/', ...rest };
}

/** A message as the proxy passes it; `text` is sent unchanged. */
export function outgoing(message: object, text = JSON.stringify(message)): OutgoingMessage {
  const { method, id } = message as { method?: string; id?: unknown };
  return {
    body: Buffer.from(text),
    method,
    ...(id !== undefined && method !== undefined && { id: JSON.stringify(id) }),
  };
}

export function request(id: string | number, method: string, params: object = {}): OutgoingMessage {
  return outgoing({ jsonrpc: '2.0', id, method, params });
}

export function call(id: string | number, name: string, args: object = {}, progressToken?: string): OutgoingMessage {
  const _meta = progressToken === undefined ? undefined : { progressToken };
  return request(id, 'tools/call', { name, arguments: args, _meta });
}

export function initialize(capabilities: object = {}): OutgoingMessage {
  const clientInfo = { name: 'test', version: '1' };
  return request('init', 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
}

export const INITIALIZED = outgoing({ jsonrpc: '2.0', method: 'notifications/initialized' });
export const forever = new AbortController().signal;
export const send = (channel: UpstreamChannel, message: OutgoingMessage, signal = forever): Promise<UpstreamAnswer> =>
  channel.postMessage(message, { signal });

export async function textOf(body: AnswerBody): Promise<string> {
  let text = '';
  for await (const chunk of chunksOf(body)) text += String(chunk);
  return text;
}

/** The messages of an event stream, as they arrive. */
export async function* events(body: AnswerBody): AsyncGenerator<Message> {
  let text = '';
  for await (const chunk of chunksOf(body)) {
    text += String(chunk);
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const frame = text.slice(0, end);
      text = text.slice(end + 2);
      expect(frame).toMatch(/^event: message\ndata: [^\r\n]+$/);
      yield JSON.parse(frame.slice(frame.indexOf('data: ') + 6)) as Message;
    }
  }
  expect(text).toBe('');
}

export async function next(stream: AsyncGenerator<Message>): Promise<Message | undefined> {
  const { value, done } = await stream.next();
  return done === true ? undefined : value;
}

export async function json(answer: Promise<UpstreamAnswer>): Promise<Message> {
  const { status, contentType, body } = await answer;
  expect({ status, contentType }).toEqual({ status: 200, contentType: 'application/json' });
  return JSON.parse(await textOf(body)) as Message;
}

export async function say(
  channel: UpstreamChannel,
  id: string | number,
  name: string,
  args: object = {},
): Promise<string> {
  const { result } = await json(send(channel, call(id, name, args)));
  return result?.content?.[0]?.text ?? '';
}
