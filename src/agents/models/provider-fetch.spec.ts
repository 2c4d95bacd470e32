import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Agent } from 'undici';
import { eventStreamMessage } from '../../../test/support/model-apis/event-stream-message.js';
import { PROVIDER_LIMITS } from '../../platform/net/http-limits.js';
import { type StreamFraming, createProviderFetch, hidingKey } from './provider-fetch.js';

const closers: (() => void)[] = [];

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  await new Promise((resolve) => server.once('listening', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function fetchWith(
  limits: Partial<Record<keyof typeof PROVIDER_LIMITS, number>>,
  framing?: StreamFraming,
): typeof globalThis.fetch {
  const dispatcher = new Agent();
  closers.push(() => void dispatcher.destroy());
  return createProviderFetch(dispatcher, { ...PROVIDER_LIMITS, ...limits }, framing);
}

describe('the fetch of the provider SDKs', () => {
  it('sends the request and returns status, headers and body', async () => {
    const url = await serve((request, response) => {
      response.writeHead(201, { 'x-seen': `${request.method} ${request.url} ${request.headers.authorization}` });
      request.pipe(response);
    });
    const init = { method: 'POST', headers: { authorization: 'Bearer k' }, body: '{"a":"é"}' };
    const answer = await fetchWith({})(`${url}/v1/chat/completions`, init);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-seen')).toBe('POST /v1/chat/completions Bearer k');
    expect(await answer.text()).toBe('{"a":"é"}');
  });

  it('ends all lines of events with LF, which parsers find fast', async () => {
    const url = await serve((_request, response) => {
      response.write('data: a\r');
      response.end('\ndata: b\r\r');
    });
    expect(await (await fetchWith({})(url)).text()).toBe('data: a\ndata: b\n\n');
  });

  it.each([301, 302, 303, 307, 308])('does not follow a redirect (%i)', async (status) => {
    let requests = 0;
    const url = await serve((_request, response) => {
      requests++;
      response.writeHead(status, { location: '/elsewhere' }).end();
    });
    const answer = await fetchWith({})(url, { method: 'POST', body: '{}' });
    expect([answer.status, requests]).toEqual([status, 1]);
  });

  it('times out when a provider never responds', async () => {
    const url = await serve(() => undefined);
    const answer = fetchWith({ headersTimeoutMs: 50 })(url);
    await expect(answer).rejects.toMatchObject({ cause: { code: 'UND_ERR_HEADERS_TIMEOUT' } });
  });

  it('times out when a response stalls', async () => {
    const url = await serve((_request, response) => void response.write('beginning'));
    const answer = await fetchWith({ idleTimeoutMs: 50 })(url);
    await expect(answer.text()).rejects.toMatchObject({ cause: { code: 'UND_ERR_BODY_TIMEOUT' } });
  });

  it('limits the size of a response', async () => {
    const closed = Promise.withResolvers<void>();
    const url = await serve((_request, response) => {
      const timer = setInterval(() => response.write('x'.repeat(1000)), 1);
      response.once('close', () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    const answer = await fetchWith({ maxAnswerBytes: 10_000 })(url);
    await expect(answer.text()).rejects.toMatchObject({ name: 'AnswerTooLargeError' });
    await closed.promise;
  });

  it.each([302, 400, 500])('reads the beginning of an error document only (%i)', async (status) => {
    const closed = Promise.withResolvers<void>();
    const url = await serve((_request, response) => {
      response.once('close', closed.resolve);
      response.writeHead(status);
      const write = (): void => void response.write(`[${'{},'.repeat(20_000)}`, () => setImmediate(write));
      write();
    });
    const answer = await fetchWith({})(url);
    expect(await answer.text()).toHaveLength(64 * 1024);
    await closed.promise;
  });

  it.each([
    ['values', `data: [${'0,'.repeat(65_537)}0]\n\n`],
    ['levels', `data: ${'['.repeat(1_001)}\n\n`],
    ['lines', 'data:\n'.repeat(65_537)],
    ['bytes', `data: "${'x'.repeat(1_000_000)}`],
  ])('fails an answer that has too many %s in one event, whatever its type', async (_what, event) => {
    for (const type of ['text/event-stream', 'application/json', 'application/vnd.amazon.eventstream']) {
      const url = await serve((_request, response) => response.writeHead(200, { 'content-type': type }).end(event));
      const answer = await fetchWith({ maxEventBytes: 1_000_000 })(url);
      await expect(answer.text()).rejects.toMatchObject({ name: 'AnswerTooLargeError' });
    }
  });

  it('passes on many events, and one with a large file', async () => {
    const events = `data: [${'0,'.repeat(60_000)}0]\n\n`.repeat(4) + `data: {"b64":"${'x'.repeat(28_000_000)}"}\n\n`;
    const url = await serve((_request, response) => response.end(events));
    const answer = await fetchWith({})(url);
    expect(await answer.text()).toBe(events);
  });

  describe('of a kind that streams frames', () => {
    const headers = { ':event-type': 'contentBlockDelta', ':message-type': 'event' };
    const fetchFrames = async (body: Buffer, limits = {}, step = body.length): Promise<Uint8Array[]> => {
      const url = await serve(async (_request, response) => {
        for (let at = 0; at < body.length; at += step) {
          await new Promise((written) => response.write(body.subarray(at, at + step), written));
        }
        response.end();
      });
      const answer = await fetchWith(limits, 'frames')(url);
      const chunks: Uint8Array[] = [];
      for await (const chunk of answer.body!) chunks.push(chunk);
      return chunks;
    };

    it.each([1, 7, 100_000])('passes each frame on whole, however the bytes arrive (%i at a time)', async (step) => {
      const frames = ['', 'a\n\n"', 'é'.repeat(200)].map((delta) => eventStreamMessage(headers, { delta }));
      const chunks = await fetchFrames(Buffer.concat(frames), {}, step);
      expect(chunks.map((chunk) => Buffer.from(chunk))).toEqual(frames);
    });

    it('counts the frames separately', async () => {
      const frame = eventStreamMessage(headers, Array(60_000).fill(0));
      expect(Buffer.concat(await fetchFrames(Buffer.concat([frame, frame, frame])))).toHaveLength(3 * frame.length);
      const large = eventStreamMessage(headers, Array(65_537).fill(0));
      await expect(fetchFrames(large)).rejects.toMatchObject({ name: 'AnswerTooLargeError' });
    });

    it('fails a frame that is too large as soon as it says so', async () => {
      const frame = eventStreamMessage(headers, { delta: 'x'.repeat(2_000) }).subarray(0, 20);
      const frames = fetchFrames(frame, { maxEventBytes: 2_000 });
      await expect(frames).rejects.toMatchObject({ name: 'AnswerTooLargeError' });
    });

    it('leaves what is no frame, or not complete, to the decoder', async () => {
      const frame = eventStreamMessage(headers, { delta: 'x' });
      expect(Buffer.concat(await fetchFrames(frame.subarray(0, -3)))).toEqual(frame.subarray(0, -3));
      expect(Buffer.concat(await fetchFrames(Buffer.alloc(40)))).toEqual(Buffer.alloc(40));
    });
  });

  it('ends the request when the signal is aborted', async () => {
    const closed = Promise.withResolvers<void>();
    const url = await serve((_request, response) => {
      response.once('close', closed.resolve);
      response.write('beginning');
    });
    const cancel = new AbortController();
    const answer = await fetchWith({})(url, { signal: cancel.signal });
    const text = answer.text();
    cancel.abort();
    await expect(text).rejects.toMatchObject({ name: 'AbortError' });
    await closed.promise;
  });
});

describe('hidingKey', () => {
  const KEY = 'sk-proj-0123456789.+abc';
  const answering = (body: string, status: number): typeof globalThis.fetch =>
    hidingKey(async () => new Response(body, { status, headers: { 'retry-after': '1' } }), KEY);

  it.each([
    [`Incorrect key: ${KEY}.`, 'Incorrect key: ***.'],
    ['Incorrect key: sk-proj-********9.+abc', 'Incorrect key: ***+abc'],
    ['Incorrect key: "sk-proj-…"', 'Incorrect key: "***"'],
    ['No such model: gpt', 'No such model: gpt'],
  ])('replaces the key in an error document: %s', async (body, shown) => {
    const answer = await answering(body, 401)('http://x');
    expect(await answer.text()).toBe(shown);
    expect(answer).toMatchObject({ status: 401 });
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  it('replaces it in a redirect, which is an error, too', async () => {
    expect(await (await answering(`Moved: ${KEY}`, 302)('http://x')).text()).toBe('Moved: ***');
  });

  it('replaces each of several secrets, also one that begins like another', async () => {
    const secrets = ['AKIAIOSFODNN7', undefined, 'AKIAIOSFODNN7/longer+secret', ''];
    const body = 'AKIAIOSFODNN7/longer+secret, AKIAIOSFODNN7, AKIAIOSF****';
    const answer = await hidingKey(async () => new Response(body, { status: 403 }), ...secrets)('http://x');
    expect(await answer.text()).toBe('***, ***, ***');
  });

  it('leaves answers alone', async () => {
    expect(await (await answering(KEY, 200)('http://x')).text()).toBe(KEY);
  });
});
