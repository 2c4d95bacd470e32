import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * A caller with one raw socket, which sends a request when the previous answer is complete. A raw socket has little
 * overhead. `certificate` is the file of a certificate to trust over TLS.
 */
export class Caller {
  constructor({ url, headers, certificate }) {
    const { hostname, port, host, pathname } = new URL(url);
    const lines = Object.entries({ ...headers, host }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.head = `POST ${pathname} HTTP/1.1\r\n${lines.join('')}content-length: `;
    const address = { host: hostname, port: Number(port), noDelay: true };
    this.socket =
      certificate === undefined ? connect(address) : connectTls({ ...address, ca: readFileSync(certificate) });
    this.opened = once(this.socket, certificate === undefined ? 'connect' : 'secureConnect');
  }

  /** Resolves with the milliseconds until the answer was complete. @throws Error for any answer except a result */
  async time(method, params) {
    await this.opened;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const startedAt = performance.now();
    this.socket.write(`${this.head}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    const text = await this.answer();
    const ms = performance.now() - startedAt;
    if (!text.startsWith('HTTP/1.1 200') || !text.includes('"result":'))
      throw new Error(`Unexpected answer: ${text.slice(0, 500)}`);
    return { ms, text };
  }

  close() {
    this.socket.destroy();
  }

  answer() {
    let received = Buffer.alloc(0);
    return new Promise((resolve, reject) => {
      const onClose = () => reject(new Error('The connection was closed.'));
      const onData = (chunk) => {
        received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
        if (!isWhole(received)) return;
        this.socket.off('data', onData).off('close', onClose);
        resolve(received.toString('utf8'));
      };
      this.socket.on('data', onData).on('close', onClose);
    });
  }
}

function isWhole(received) {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return false;
  const length = /\ncontent-length: *(\d+)/i.exec(received.latin1Slice(0, headEnd))?.[1];
  return length === undefined
    ? received.latin1Slice(received.length - 5) === '0\r\n\r\n'
    : received.length >= headEnd + HEAD_END.length + Number(length);
}
