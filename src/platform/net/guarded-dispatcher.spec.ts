import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { request } from 'undici';
import { AddressPolicy, AddressRefusedError, parseAllowList } from './address-policy.js';
import { GuardedDispatcher, type Resolve } from './guarded-dispatcher.js';

describe('GuardedDispatcher', () => {
  let server: Server;
  let port: number;
  let connections = 0;
  let dispatcher: GuardedDispatcher | undefined;

  beforeAll(async () => {
    server = createServer((_request, response) => response.end('reached'));
    server.on('connection', () => connections++);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });

  afterEach(async () => {
    await dispatcher?.destroy();
    connections = 0;
  });

  afterAll(() => {
    server.close();
  });

  function get(url: string, allow: string[], resolve?: Resolve): Promise<string> {
    const policy = new AddressPolicy({ allowPrivate: false, allow: parseAllowList(allow) });
    dispatcher = new GuardedDispatcher(policy, { connectTimeoutMs: 2_000, resolve });
    return request(url, { dispatcher }).then(({ body }) => body.text());
  }

  const resolveTo =
    (...addresses: string[]): Resolve =>
    async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

  it('connects to allowed addresses and names', async () => {
    await expect(get(`http://127.0.0.1:${port}/`, [`127.0.0.1:${port}`])).resolves.toBe('reached');
    await expect(get(`http://some.example:${port}/`, ['127.0.0.0/8'], resolveTo('127.0.0.1'))).resolves.toBe('reached');
    await expect(get(`http://some.example:${port}/`, [`some.example:${port}`], resolveTo('127.0.0.1'))).resolves.toBe(
      'reached',
    );
  });

  it('refuses an address literal, which a socket does not resolve', async () => {
    await expect(get(`http://127.0.0.1:${port}/`, [])).rejects.toBeInstanceOf(AddressRefusedError);
    await expect(get(`http://[::ffff:127.0.0.1]:${port}/`, [])).rejects.toBeInstanceOf(AddressRefusedError);
    await expect(get(`http://2130706433:${port}/`, ['127.0.0.1:1'])).rejects.toBeInstanceOf(AddressRefusedError);
    await expect(get(`http://localhost:${port}/`, [])).rejects.toBeInstanceOf(AddressRefusedError);
    expect(connections).toBe(0);
  });

  it('refuses a name when one of its addresses is refused', async () => {
    const failure = get(`http://some.example:${port}/`, [], resolveTo('93.184.216.34', '127.0.0.1'));
    await expect(failure).rejects.toThrow('The host some.example resolves to a loopback address.');
    expect(connections).toBe(0);
  });

  it('resolves once and connects to that address, so that DNS rebinding has no effect', async () => {
    const answers = ['127.0.0.1', '169.254.169.254'];
    let asked = 0;
    const rebinding: Resolve = async () => [{ address: answers[asked++] ?? '169.254.169.254', family: 4 }];
    await expect(get(`http://some.example:${port}/`, ['127.0.0.1/32'], rebinding)).resolves.toBe('reached');
    expect(asked).toBe(1);
  });

  it('compares the port of an allowed host:port with the port of the connection', async () => {
    const failure = get(`http://some.example:${port}/`, [`some.example:${port + 1}`], resolveTo('127.0.0.1'));
    await expect(failure).rejects.toBeInstanceOf(AddressRefusedError);
  });

  it('offers only HTTP/1.1', async () => {
    const tcp = createTcpServer().listen(0, '127.0.0.1');
    await once(tcp, 'listening');
    const origin = `127.0.0.1:${(tcp.address() as AddressInfo).port}`;
    const failure = get(`https://${origin}/`, [origin]).catch((error: unknown) => error);
    const [socket] = (await once(tcp, 'connection')) as [Socket];
    const [clientHello] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    tcp.close();
    // The ALPN protocols, each preceded by its length (RFC 7301 §3.1).
    expect(clientHello.includes('\x08http/1.1')).toBe(true);
    expect(clientHello.includes('\x02h2')).toBe(false);
    await failure;
  });

  it('passes on errors of the resolver', async () => {
    const unknown: Resolve = () => Promise.reject(Object.assign(new Error('no such name'), { code: 'ENOTFOUND' }));
    await expect(get('http://nowhere.example/', [], unknown)).rejects.toMatchObject({ code: 'ENOTFOUND' });
  });
});
