import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AddressPolicy, AddressRefusedError } from './address-policy.js';
import { AnswerRefusedError, BoundedFetch } from './bounded-fetch.js';

describe('BoundedFetch', () => {
  let server: Server;
  let url: string;
  let requests = 0;
  let listener: RequestListener;
  const http = new BoundedFetch(new AddressPolicy({ allowPrivate: true, allow: [] }));

  beforeAll(async () => {
    server = createServer((request, response) => {
      requests++;
      listener(request, response);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/document`;
  });
  afterAll(async () => {
    await http.onApplicationShutdown();
    server.closeAllConnections();
    server.close();
  });

  it('sends the method, headers and form, and returns the whole answer', async () => {
    listener = async (request, response) => {
      const { method, headers } = request;
      response.writeHead(201, { 'content-type': 'application/json', 'x-answer': 'yes' });
      response.end(
        JSON.stringify({ method, accept: headers.accept, agent: headers['user-agent'], body: await text(request) }),
      );
    };
    const init = { method: 'POST', headers: { accept: 'application/json' }, body: new URLSearchParams({ a: '1' }) };
    const answer = await http.fetch(new URL(url), init);
    expect([answer.status, answer.headers.get('x-answer')]).toEqual([201, 'yes']);
    expect(await answer.json()).toEqual({
      method: 'POST',
      accept: 'application/json',
      agent: 'signalbox',
      body: 'a=1',
    });
  });

  it('accepts 64 KiB and refuses more', async () => {
    const size = 64 * 1024;
    listener = (_request, response) => response.end('x'.repeat(size));
    expect((await (await http.fetch(url)).text()).length).toBe(size);
    listener = (_request, response) => {
      for (let sent = 0; sent <= size; sent += 1024) response.write('x'.repeat(1024));
    };
    await expect(http.fetch(url)).rejects.toBeInstanceOf(AnswerRefusedError);
  });

  it('does not follow redirects', async () => {
    listener = (_request, response) => response.writeHead(302, { location: url }).end();
    requests = 0;
    await expect(http.fetch(url)).rejects.toBeInstanceOf(AnswerRefusedError);
    expect((await http.head(url)).headers.get('location')).toBe(url);
    expect(requests).toBe(2);
  });

  it('returns the head of an answer that does not end', async () => {
    listener = (_request, response) => response.writeHead(401, { 'www-authenticate': 'Bearer' }).write('data: 1\n\n');
    const { status, headers } = await http.head(url, { method: 'POST', body: '{}' });
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
  });

  it('refuses addresses that the policy refuses, without connecting', async () => {
    const strict = new BoundedFetch(new AddressPolicy({ allowPrivate: false, allow: [] }));
    requests = 0;
    for (const address of [url, url.replace('127.0.0.1', 'localhost'), 'file:///etc/hosts']) {
      await expect(strict.fetch(address)).rejects.toBeInstanceOf(AddressRefusedError);
      await expect(strict.head(address)).rejects.toBeInstanceOf(AddressRefusedError);
    }
    expect(requests).toBe(0);
    await strict.onApplicationShutdown();
  });
});
