/**
 * The load generator of the proxy benchmark, in a separate process. Each caller keeps one socket open and sends the
 * next call when the previous answer is complete. It uses raw sockets, because an HTTP client would cost more than the
 * proxy. Receives `{ url, headers, endpoints?, certificate?, callers, ms }` as a message from the parent. With
 * `endpoints` (`{ url, headers }` of one server), the callers share them out, and each calls its own in turn. Replies
 * with `{ calls, seconds, p50, p99, busy }` (times in milliseconds; `busy` is the part of one core that this process
 * used) or `{ error }`.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { quantile } from './report.mjs';

const TEXT = 'The quick brown fox jumps over the lazy dog, again and again....';
const HEAD_END = Buffer.from('\r\n\r\n');
let nextId = 1;

process.on('message', (job) => {
  measure(job).then(
    (figures) => process.send(figures),
    (error) => process.send({ error: error.message }),
  );
});
process.once('disconnect', () => process.exit(0));

async function measure({ url, headers, endpoints = [{ url, headers }], certificate, callers, ms }) {
  const ca = certificate === undefined ? undefined : readFileSync(certificate);
  const times = [];
  const cpu = process.cpuUsage();
  const start = performance.now();
  const until = start + ms;
  const { hostname, port } = new URL(url);
  const address = { host: hostname, port: Number(port), noDelay: true };
  const heads = endpoints.map(headOf);
  // Short rounds begin at different endpoints, so that all have their turn.
  const anywhere = Math.floor(Math.random() * heads.length);
  const targetOf = (caller) => ({ address, ca, heads, first: anywhere + caller, step: callers });
  await Promise.all(Array.from({ length: callers }, (_, i) => call(targetOf(i), until, times)));
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    calls: times.length,
    seconds,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
    busy: (user + system) / 1e6 / seconds,
  };
}

/** The head of a request, up to the value of its content-length. */
function headOf({ url, headers }) {
  const { host, pathname } = new URL(url);
  const lines = Object.entries({ ...headers, host }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname} HTTP/1.1\r\n${lines.join('')}content-length: `;
}

/**
 * Runs one caller until the time is over. A wrong answer ends the benchmark.
 * @param {{ heads: string[], first: number, step: number }} target the caller takes every `step`th head
 */
function call({ address, ca, heads, first, step }, until, times) {
  return new Promise((resolve, reject) => {
    let next = first;
    const socket = ca === undefined ? connect(address) : connectTls({ ...address, ca });
    let received = Buffer.alloc(0);
    let id;
    let sentAt;
    const send = () => {
      id = nextId++;
      const params = `{"name":"echo","arguments":{"text":"${TEXT}","times":2}}`;
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
      const head = heads[next % heads.length];
      next += step;
      sentAt = performance.now();
      socket.write(`${head}${body.length}\r\n\r\n${body}`);
    };
    socket.on(ca === undefined ? 'connect' : 'secureConnect', send);
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('The connection was closed.')));
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk]);
      const answer = whole(received);
      if (answer === undefined) return;
      const now = performance.now();
      times.push(now - sentAt);
      received = Buffer.alloc(0);
      if (!isRight(answer, id)) return reject(new Error(`Wrong answer to call ${id}: ${answer.slice(0, 1000)}`));
      if (now < until) return send();
      socket.removeAllListeners('close').end();
      resolve();
    });
  });
}

/** Returns the complete answer as text, or undefined while it is incomplete. */
function whole(received) {
  const headEnd = received.indexOf(HEAD_END);
  if (headEnd < 0) return undefined;
  const head = received.latin1Slice(0, headEnd);
  const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1];
  const isComplete =
    length === undefined
      ? received.latin1Slice(received.length - 5) === '0\r\n\r\n'
      : received.length >= headEnd + HEAD_END.length + Number(length);
  return isComplete ? received.latin1Slice() : undefined;
}

function isRight(answer, id) {
  const hasId = answer.includes(`"id":${id},`) || answer.includes(`"id":${id}}`);
  return answer.startsWith('HTTP/1.1 200') && hasId && answer.includes(`"text":"${TEXT}"`);
}
