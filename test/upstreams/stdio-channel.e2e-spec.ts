import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { type AnswerBody, chunksOf } from '../../src/upstreams/messages/answer-body.js';
import type {
  OutgoingMessage,
  UpstreamAnswer,
  UpstreamChannel,
} from '../../src/upstreams/messages/upstream-channel.js';
import { type StdioLimits, StdioProcesses } from '../../src/upstreams/stdio/stdio-processes.js';
import { StdioSessions } from '../../src/upstreams/stdio/stdio-sessions.js';
import type { StdioTarget } from '../../src/upstreams/contract/upstream-target.js';
import { entryOf } from '../support/reference-servers.js';

const MINI = fileURLToPath(new URL('../support/stdio-fixtures/mini-server.mjs', import.meta.url));
const EVERYTHING = entryOf('server-everything');

const LIMITS: StdioLimits = {
  maxProcesses: 8,
  idleMs: 60_000,
  maxMemoryBytes: 512 * 2 ** 20,
  environment: { PATH: process.env['PATH'] ?? '' },
  hasOthers: async () => false,
};

interface Message {
  id?: string | number;
  method?: string;
  result?: { content?: { text: string }[]; [name: string]: unknown };
  error?: { code: number; message: string };
}

Logger.overrideLogger(false);

let processes: StdioProcesses;
let sessions: StdioSessions;

function start(limits: Partial<StdioLimits> = {}): void {
  processes = new StdioProcesses({ ...LIMITS, ...limits });
  sessions = new StdioSessions(processes);
}

beforeEach(() => start());
afterEach(() => processes.onApplicationShutdown());

function target(args: readonly string[] = [MINI], rest: Partial<StdioTarget> = {}): StdioTarget {
  const identity = { connectionId: 'c', revision: '1', timeoutMs: 20_000 };
  return { kind: 'stdio', organizationId: 'o', ...identity, command: 'node', args, env: {}, cwd: '/', ...rest };
}

/** A message as the proxy passes it; `text` is sent unchanged. */
function outgoing(message: object, text = JSON.stringify(message)): OutgoingMessage {
  const { method, id } = message as { method?: string; id?: unknown };
  return {
    body: Buffer.from(text),
    method,
    ...(id !== undefined && method !== undefined && { id: JSON.stringify(id) }),
  };
}

function request(id: string | number, method: string, params: object = {}): OutgoingMessage {
  return outgoing({ jsonrpc: '2.0', id, method, params });
}

function call(id: string | number, name: string, args: object = {}, progressToken?: string): OutgoingMessage {
  const _meta = progressToken === undefined ? undefined : { progressToken };
  return request(id, 'tools/call', { name, arguments: args, _meta });
}

function initialize(capabilities: object = {}): OutgoingMessage {
  const clientInfo = { name: 'test', version: '1' };
  return request('init', 'initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo });
}

const INITIALIZED = outgoing({ jsonrpc: '2.0', method: 'notifications/initialized' });
const forever = new AbortController().signal;
const send = (channel: UpstreamChannel, message: OutgoingMessage, signal = forever): Promise<UpstreamAnswer> =>
  channel.postMessage(message, { signal });

async function textOf(body: AnswerBody): Promise<string> {
  let text = '';
  for await (const chunk of chunksOf(body)) text += String(chunk);
  return text;
}

/** The messages of an event stream, as they arrive. */
async function* events(body: AnswerBody): AsyncGenerator<Message> {
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

async function next(stream: AsyncGenerator<Message>): Promise<Message | undefined> {
  const { value, done } = await stream.next();
  return done === true ? undefined : value;
}

async function json(answer: Promise<UpstreamAnswer>): Promise<Message> {
  const { status, contentType, body } = await answer;
  expect({ status, contentType }).toEqual({ status: 200, contentType: 'application/json' });
  return JSON.parse(await textOf(body)) as Message;
}

async function say(channel: UpstreamChannel, id: string | number, name: string, args: object = {}): Promise<string> {
  const { result } = await json(send(channel, call(id, name, args)));
  return result?.content?.[0]?.text ?? '';
}

async function opened(
  key = 'session',
  of = target(),
  capabilities: object = {},
  callerId = key,
): Promise<UpstreamChannel> {
  const channel = sessions.channel({ key, callerId }, of);
  expect(await json(send(channel, initialize(capabilities)))).toMatchObject({ id: 'init', result: {} });
  expect(await send(channel, INITIALIZED)).toMatchObject({ status: 202, contentType: undefined });
  return channel;
}

describe('StdioChannel', () => {
  it('answers with JSON when the response comes first', async () => {
    const channel = await opened();
    expect(await say(channel, 7, 'echo', { text: 'line\nbreak' })).toBe('line\nbreak');
  });

  it('accepts bodies of several lines, and ids in any notation', async () => {
    const channel = await opened();
    const message = {
      jsonrpc: '2.0',
      id: 'a',
      method: 'tools/call',
      params: { name: 'echo', arguments: { text: 'ü' } },
    };
    const pretty = JSON.stringify(message, null, 2).replaceAll('\n', '\r\n').replace('"a"', '"\\u0061"');
    const answer = await send(channel, { ...outgoing(message, pretty), id: '"\\u0061"' });
    expect(JSON.parse(await textOf(answer.body))).toMatchObject({ id: 'a', result: { content: [{ text: 'ü' }] } });
  });

  it('answers with a stream when a message precedes the response, and forwards the answer to a request', async () => {
    const channel = await opened();
    const answer = await send(channel, call(1, 'ask', {}, 'token'));
    expect(answer).toMatchObject({ status: 200, contentType: 'text/event-stream' });
    const stream = events(answer.body);
    expect(await next(stream)).toMatchObject({ method: 'notifications/progress', params: { progressToken: 'token' } });
    expect(await next(stream)).toMatchObject({ id: 'question', method: 'sampling/createMessage' });
    const reply = outgoing({ jsonrpc: '2.0', id: 'question', result: { model: 'm' } });
    expect(await send(channel, reply)).toMatchObject({ status: 202 });
    expect(await next(stream)).toMatchObject({ id: 1, result: { content: [{ text: '{"model":"m"}' }] } });
    expect(await next(stream)).toBeUndefined();
  });

  it('matches the answers of many requests', async () => {
    const channel = await opened();
    const texts = Array.from({ length: 100 }, (_, n) => `text ${n}`);
    const answers = await Promise.all(texts.map((text, n) => say(channel, n % 2 ? n : String(n), 'echo', { text })));
    expect(answers).toEqual(texts);
  });

  it('refuses the id of an active request', async () => {
    const channel = await opened();
    const abort = new AbortController();
    const first = send(channel, call(1, 'never'), abort.signal);
    const second = await send(channel, call(1, 'echo', { text: 'x' }));
    expect(second.status).toBe(400);
    expect(JSON.parse(await textOf(second.body))).toMatchObject({ id: 1, error: { code: -32600 } });
    abort.abort();
    await expect(first).rejects.toMatchObject({ name: 'UpstreamError', kind: 'cancelled' });
    expect(await say(channel, 1, 'echo', { text: 'free again' })).toBe('free again');
  });

  it.each(['1.5', '1e-320', '1e300', '1e400', '9007199254740993'])(
    'refuses an id that programs silently drop: %s',
    async (id) => {
      const channel = await opened();
      const message = { jsonrpc: '2.0', id: 0, method: 'initialize', params: {} };
      const answer = await send(channel, {
        ...outgoing(message, JSON.stringify(message).replace('"id":0', `"id":${id}`)),
        id,
      });
      expect(answer.status).toBe(400);
      expect(JSON.parse(await textOf(answer.body))).toMatchObject({ error: { code: -32600 } });
    },
  );

  it('has one stream for unsolicited messages, and keeps earlier ones', async () => {
    const channel = await opened();
    // The fixture sends `list_changed` when it is initialized.
    await say(channel, 1, 'echo', { text: 'x' });
    const abort = new AbortController();
    const answer = await channel.listen({ signal: abort.signal });
    expect(answer).toMatchObject({ status: 200, contentType: 'text/event-stream' });
    const stream = events(answer.body);
    expect(await next(stream)).toMatchObject({ method: 'notifications/tools/list_changed' });

    const conflict = await channel.listen({ signal: forever });
    expect(conflict).toMatchObject({ status: 409, contentType: 'application/json' });
    expect(JSON.parse(await textOf(conflict.body))).toMatchObject({ id: null, error: { code: -32000 } });

    abort.abort();
    await next(stream).catch(() => undefined);
    await send(channel, INITIALIZED);
    await say(channel, 2, 'echo', { text: 'x' });
    const again = await channel.listen({ signal: forever });
    expect(await next(events(again.body))).toMatchObject({ method: 'notifications/tools/list_changed' });
  });

  it('sends notifications about the session to the listener, and others to the request', async () => {
    const channel = await opened();
    await say(channel, 1, 'echo', { text: 'x' });
    const listener = events((await channel.listen({ signal: forever })).body);
    await next(listener);
    const waiting = send(channel, call(2, 'never'));
    waiting.catch(() => undefined);
    await send(channel, INITIALIZED);
    expect(await next(listener)).toMatchObject({ method: 'notifications/tools/list_changed' });
    // With two active requests, the program's request goes to the listener, and progress to its request.
    const asking = events((await send(channel, call(3, 'ask', {}, 't'))).body);
    expect(await next(asking)).toMatchObject({ method: 'notifications/progress' });
    expect(await next(listener)).toMatchObject({ id: 'question' });
  });

  it('fails active requests and ends the listener when the program ends', async () => {
    const channel = await opened();
    const listener = events((await channel.listen({ signal: forever })).body);
    await next(listener);
    const waiting = send(channel, call(1, 'never'));
    const fault = {
      name: 'UpstreamError',
      kind: 'unreachable',
      message: expect.stringContaining('exited with code 5'),
    };
    await expect(send(channel, call(2, 'exit', { code: 5 }))).rejects.toMatchObject(fault);
    await expect(waiting).rejects.toMatchObject(fault);
    expect(await next(listener)).toBeUndefined();
  });

  it('ends a stream with an error when the program ends', async () => {
    const channel = await opened();
    const { body } = await send(channel, call(1, 'ask'));
    const reading = textOf(body);
    await expect(send(channel, call(2, 'exit'))).rejects.toMatchObject({ kind: 'unreachable' });
    await expect(reading).rejects.toMatchObject({ name: 'UpstreamError', kind: 'unreachable' });
  });

  it('gives up after the time limit of the connection', async () => {
    const channel = await opened('session', target([MINI], { timeoutMs: 1_000 }));
    await expect(send(channel, call(1, 'never'))).rejects.toMatchObject({
      kind: 'timeout',
      message: 'The upstream at stdio:node did not answer within 1000 ms.',
    });
    expect(await say(channel, 2, 'echo', { text: 'on' })).toBe('on');
  });
});

describe('StdioSessions', () => {
  it('gives each session its own process', async () => {
    const [a, b] = await Promise.all([opened('a'), opened('b')]);
    expect(await say(a, 1, 'pid')).not.toBe(await say(b, 1, 'pid'));
    const again = sessions.channel({ key: 'a', initialize: initialize() }, target());
    expect(await say(again, 2, 'pid')).toBe(await say(a, 3, 'pid'));
  });

  it('restarts a program that has ended, initialized as the session was', async () => {
    start({ idleMs: 200 });
    const channel = await opened('a', target(), { sampling: {} });
    const pid = Number(await say(channel, 1, 'pid'));
    while (isAlive(pid)) await sleep(20);
    const resume = (): UpstreamChannel =>
      sessions.channel({ key: 'a', initialize: initialize({ sampling: {} }) }, target());
    const resumed = resume();
    const [one, other] = await Promise.all([say(resumed, 2, 'pid'), say(resume(), 3, 'pid')]);
    expect(one).toBe(other);
    expect(JSON.parse(await say(resumed, 1, 'initialization'))).toMatchObject({ capabilities: { sampling: {} } });
    // The answer to the replay is not delivered, but the effect of `initialized` is visible.
    expect(await next(events((await resumed.listen({ signal: forever })).body))).toMatchObject({
      method: 'notifications/tools/list_changed',
    });
  });

  it('ends the program on request, and when the connection is edited', async () => {
    const first = await opened('a');
    const [one, two] = [Number(await say(first, 1, 'pid')), Number(await say(await opened('b'), 1, 'pid'))];
    expect(await first.end({ signal: forever })).toMatchObject({ status: 200, contentType: undefined });
    const edited = sessions.channel({ key: 'b', initialize: initialize() }, target([MINI], { revision: '2' }));
    expect(await say(edited, 1, 'echo', { text: 'x' })).toBe('x');
    while (isAlive(one) || isAlive(two)) await sleep(20);
  });

  it('lets server-everything request sampling, as if the client had started it', async () => {
    const channel = await opened('a', target([EVERYTHING, 'stdio']), { sampling: {} });
    const list = await json(send(channel, request(1, 'tools/list')));
    const { tools } = list.result as { tools: { name: string }[] };
    const tool = tools.find(({ name }) => name.includes('sampling'))?.name ?? '';
    const answer = await send(channel, call(2, tool, { prompt: 'hello', maxTokens: 10 }));
    const stream = events(answer.body);
    let message = await next(stream);
    while (message?.method !== 'sampling/createMessage') message = await next(stream);
    const result = { model: 'm', role: 'assistant', content: { type: 'text', text: 'a sample' } };
    await send(channel, outgoing({ jsonrpc: '2.0', id: message.id, result }));
    while (message !== undefined && message.id !== 2) message = await next(stream);
    expect(JSON.stringify(message?.result)).toContain('a sample');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
