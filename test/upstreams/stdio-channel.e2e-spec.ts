import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { AnswerBudget, type AnswerHolder } from '../../src/core/answers/answer-budget.js';
import { AnswerRooms } from '../../src/core/answers/answer-room.js';
import { eventually } from '../support/eventually.js';
import {
  call,
  events,
  forever,
  INITIALIZED,
  MINI,
  next,
  outgoing,
  say,
  send,
  target,
  textOf,
  useStdioSessions,
} from './stdio-channel.support.js';

const HOSTILE = fileURLToPath(new URL('../support/stdio-fixtures/hostile-server.mjs', import.meta.url));

const stdio = useStdioSessions();
const { opened } = stdio;

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

  it.each(['request', 'listener'])('ends the stream of a %s if there is no room for what is unread', async (kind) => {
    stdio.start({ rooms: new AnswerRooms(new AnswerBudget(2 ** 20)) });
    const channel = await opened('session', target([HOSTILE]));
    const listening = await channel.listen({ signal: forever });
    // With two active requests, the listener gets the messages.
    if (kind === 'listener') send(channel, call(1, 'never')).catch(() => undefined);
    const flooding = send(channel, call(2, 'flood'));
    flooding.catch(() => undefined);
    const unread = (kind === 'listener' ? listening : await flooding).body as Readable;
    await eventually(() => expect(unread.errored).toMatchObject({ kind: 'busy' }));
  });

  it('counts what is unread in the share of the key whose quotas the caller uses', async () => {
    const rooms = new AnswerRooms(new AnswerBudget());
    const holders: AnswerHolder[] = [];
    stdio.start({
      rooms: {
        open: (holder) => {
          holders.push(holder);
          return rooms.open(holder);
        },
      },
    });
    const channel = await opened('session', target([HOSTILE]), {}, 'made', [{ keyId: 'maker', perMinute: 60 }]);
    const { body } = await send(channel, call(1, 'flood'));
    await eventually(() => expect(holders).toContainEqual({ organization: { id: 'o' }, callerId: 'maker' }));
    (body as Readable).destroy();
  });

  it('gives up after the time limit of the connection', async () => {
    const limited = target([MINI]);
    const channel = await opened('session', limited);
    const { timeoutMs } = limited;
    // The start of the program has its usual time.
    limited.timeoutMs = 1_000;
    await expect(send(channel, call(1, 'never'))).rejects.toMatchObject({
      kind: 'timeout',
      message: 'The upstream at stdio:node did not answer within 1000 ms.',
    });
    limited.timeoutMs = timeoutMs;
    expect(await say(channel, 2, 'echo', { text: 'on' })).toBe('on');
  });
});
