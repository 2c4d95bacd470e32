import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ProtocolError } from '@modelcontextprotocol/client';
import type { CallDeadline } from '../../../upstreams/contract/call-deadline.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';
import { messageEvent } from '../../../upstreams/messages/sse-parts.js';
import type { Sent } from '../upstream-sender.js';
import { AskedClient, type AskingCall } from './asked-client.js';
import { noAnswer, type OpenRequest } from './open-requests.js';

const SENT_ID = '"sbx-1"';
const FORM = { method: 'elicitation/create', params: { mode: 'form', message: 'Who?' } };
const ROOTS = { method: 'roots/list' };
const ANSWER = `{"jsonrpc":"2.0","id":${SENT_ID},"result":{}}`;
const PROGRESS = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}';

/** A request that the client has got, and how it answers. */
interface Asked extends PromiseWithResolvers<object> {
  readonly size: number;
  isAnswered: boolean;
  isClosed: boolean;
}

let asked: Asked[];
let deadline: { lift: jest.Mock; restart: jest.Mock };
/** The answer of the upstream. */
let upstream: PassThrough;

/** Opens requests with the ids `0`, `1`, …, as many as there are places. */
function clientWith({ places = 100, ...call }: Partial<AskingCall> & { places?: number } = {}): AskedClient {
  const openRequest = (size: number): OpenRequest => {
    if (asked.length === places) throw new UpstreamError('busy', 'Too many');
    const one: Asked = { ...Promise.withResolvers<object>(), size, isAnswered: false, isClosed: false };
    one.promise.catch(() => undefined);
    return {
      id: String(asked.push(one) - 1),
      answer: one.promise,
      get isAnswered() {
        return one.isAnswered;
      },
      close: () => {
        one.isClosed = true;
        one.reject(noAnswer());
      },
    };
  };
  return new AskedClient({
    sentId: SENT_ID,
    capabilities: { elicitation: { form: {} }, roots: {} },
    size: 10,
    acceptsStream: true,
    deadline: deadline as unknown as CallDeadline,
    openRequest,
    ...call,
  });
}

beforeEach(() => {
  asked = [];
  deadline = { lift: jest.fn(), restart: jest.fn() };
  upstream = newUpstream();
});

function newUpstream(): PassThrough {
  const stream = new PassThrough();
  // It is destroyed with an error, as one whose program dies.
  stream.on('error', () => undefined);
  return stream;
}

const answer = (at: number, result: object): void => {
  const one = asked[at] as Asked;
  one.isAnswered = true;
  one.resolve(result);
};

const sent = (more: object = {}): Promise<Sent> =>
  Promise.resolve({
    answer: { status: 200, contentType: 'text/event-stream', headers: {}, canAsk: true, body: upstream, ...more },
  });

/** Reads the stream. */
function readFrom({ answer: { body } }: Sent) {
  const stream = body as Readable;
  let text = '';
  let failed: unknown;
  stream.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
  stream.on('error', (error) => (failed = error));
  return {
    stream,
    /** The error that ended it. */
    closed: new Promise((resolve) => stream.once('close', () => resolve(failed))),
    get messages(): unknown[] {
      return [...text.matchAll(/^data: ?(.*)\n\n/gm)].map(([, data = '']) => JSON.parse(data));
    },
  };
}

const form = (id: string) => ({ jsonrpc: '2.0', id, ...FORM });
const withdrawn = (requestId: string) =>
  expect.objectContaining({ method: 'notifications/cancelled', params: expect.objectContaining({ requestId }) });

describe('the client of a call', () => {
  it('gets what is asked between the messages of the upstream, and its answers are returned', async () => {
    const client = clientWith();
    const read = readFrom(await client.begin(sent()));
    upstream.write(messageEvent(PROGRESS));
    const answers = client.answerRequests({ a: FORM, b: ROOTS });
    answer(1, { roots: [] });
    answer(0, { action: 'accept' });
    expect(await answers).toEqual({ a: { action: 'accept' }, b: { roots: [] } });
    upstream.end(messageEvent(ANSWER));
    expect(await read.closed).toBeUndefined();
    expect(read.messages).toHaveLength(4);
    expect(read.messages).toEqual(expect.arrayContaining([JSON.parse(PROGRESS), form('0')]));
    expect(read.messages.at(-1)).toEqual(JSON.parse(ANSWER));
  });

  it('is not asked within an event', async () => {
    const client = clientWith();
    const read = readFrom(await client.begin(sent()));
    const event = messageEvent(PROGRESS);
    upstream.write(event.subarray(0, 9));
    await once(read.stream, 'data');
    const answers = client.answerRequests({ a: FORM });
    upstream.write(event.subarray(9));
    while (read.messages.length < 2) await once(read.stream, 'data');
    answer(0, {});
    await answers;
    upstream.end(messageEvent(ANSWER));
    await read.closed;
    expect(read.messages).toEqual([JSON.parse(PROGRESS), form('0'), JSON.parse(ANSWER)]);
  });

  it('gets the answer as it is if the upstream cannot ask before', async () => {
    const whole = sent({ canAsk: false });
    expect(await clientWith().begin(whole)).toBe(await whole);
  });

  it('has one request that is withdrawn while another one goes on, as long as it can answer', async () => {
    const client = clientWith();
    const read = readFrom(await client.begin(sent()));
    const taking = new AbortController();
    const taken = client.receiveRequest(FORM, taking.signal);
    const kept = client.receiveRequest(ROOTS);
    taking.abort();
    await expect(taken).rejects.toThrow('did not answer');
    expect(asked.map(({ isClosed }) => isClosed)).toEqual([true, false]);
    answer(1, { roots: [] });
    expect(await kept).toEqual({ roots: [] });
    upstream.end(messageEvent(ANSWER));
    await read.closed;
    expect(read.messages).toEqual([
      form('0'),
      { jsonrpc: '2.0', id: '1', ...ROOTS, params: {} },
      withdrawn('0'),
      JSON.parse(ANSWER),
    ]);
  });

  it('has no requests left when the upstream answers, or fails', async () => {
    for (const end of [() => upstream.end(messageEvent(ANSWER)), () => upstream.destroy(new Error('It died'))]) {
      asked = [];
      upstream = newUpstream();
      const client = clientWith();
      const read = readFrom(await client.begin(sent()));
      const request = client.receiveRequest(FORM);
      request.catch(() => undefined);
      while (read.messages.length < 1) await once(read.stream, 'data');
      end();
      await read.closed;
      await expect(request).rejects.toThrow('did not answer');
      expect(read.messages.slice(0, 2)).toEqual([form('0'), withdrawn('0')]);
    }
  });

  it('has the time limit of the call only while nothing is asked', async () => {
    const client = clientWith();
    const [first, second] = [client.receiveRequest(FORM), client.receiveRequest(ROOTS)];
    answer(0, {});
    await first;
    expect(deadline.lift).toHaveBeenCalled();
    expect(deadline.restart).not.toHaveBeenCalled();
    answer(1, {});
    await second;
    expect(deadline.restart).toHaveBeenCalledTimes(1);
    client.end();
    expect(deadline.restart).toHaveBeenCalledTimes(1);
  });

  it('is asked for everything or for nothing, and each request counts what its call keeps', async () => {
    const client = clientWith({ places: 1 });
    await expect(client.answerRequests({ a: FORM, b: ROOTS })).rejects.toThrow('Too many');
    expect(asked.map(({ isClosed }) => isClosed)).toEqual([true]);
    asked = [];
    const others = clientWith();
    for (const request of [FORM, FORM]) others.receiveRequest(request).catch(() => undefined);
    const [first, second] = asked.map(({ size }) => size);
    expect(first).toBeGreaterThan(10);
    expect(second).toBe(first);
    others.end();
  });

  it('is asked for at most eight things at once, and for no large ones', async () => {
    const client = clientWith();
    const open = Array.from({ length: 8 }, () => client.receiveRequest(ROOTS));
    await expect(client.receiveRequest(ROOTS)).rejects.toThrow('more than the service passes on');
    answer(0, {});
    await open[0];
    const large = { method: FORM.method, params: { mode: 'form', message: 'x'.repeat(1024 * 1024) } };
    await expect(client.receiveRequest(large)).rejects.toThrow('more than the service passes on');
    const next = client.receiveRequest(ROOTS);
    client.end();
    await expect(next).rejects.toThrow('did not answer');
    for (const one of open.slice(1)) await expect(one).rejects.toThrow('did not answer');
  });

  it('is not asked for what it does not declare, without a stream, or after the call', async () => {
    await expect(clientWith().receiveRequest({ method: 'sampling/createMessage' })).rejects.toThrow(ProtocolError);
    const silent = clientWith({ acceptsStream: false });
    expect(silent.isWaitedFor).toBe(false);
    await expect(silent.receiveRequest(FORM)).rejects.toThrow('text/event-stream');
    const over = clientWith();
    expect(over.isWaitedFor).toBe(true);
    over.end();
    expect(over.isWaitedFor).toBe(false);
    expect(await over.receiveRequest(FORM)).toBeUndefined();
    expect(await clientWith().receiveRequest(FORM, AbortSignal.abort())).toBeUndefined();
    await expect(over.answerRequests({ a: FORM })).rejects.toThrow('did not answer');
    expect(asked).toEqual([]);
  });
});
