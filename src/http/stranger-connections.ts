import type { Server, ServerResponse } from 'node:http';
import { isIPv6, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../common/domain-error.js';

/** One address may have this part of the connections without a credential. */
const PER_ADDRESS = 1 / 4;
/** This part of them may be at work. */
const AT_WORK = 1 / 2;
/** Such a connection lives no longer, unless it is at work. */
const MAX_AGE_MS = 120_000;
const SWEEP_MS = 5_000;
/** Requests on one connection that wait for the answer to the request before. */
const MAX_PIPELINED = 16;

/**
 * The connections on which no credential has been verified yet. Beyond the limits, in total and per address, the oldest is
 * closed: a flood of them closes its own connections, while a caller with a credential presents it right after connecting.
 */
export class StrangerConnections {
  /** In the order in which they came, with the time. */
  private readonly all = new Map<Socket, number>();
  private readonly ofAddress = new Map<string, Set<Socket>>();
  /** Address → how many of its calls without a credential are under way. */
  private readonly working = new Map<string, number>();
  private workingInAll = 0;
  private readonly pipelined = new WeakMap<Socket, number>();
  private readonly maxPerAddress: number;
  private readonly maxWorking: number;

  /** @param max connections without a credential */
  constructor(private readonly max: number) {
    this.maxPerAddress = Math.ceil(max * PER_ADDRESS);
    this.maxWorking = Math.ceil(max * AT_WORK);
  }

  /** Counts the connections of the server. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.add(socket);
      socket.once('close', () => this.remove(socket));
    });
    const sweeper = setInterval(() => this.closeAged(), SWEEP_MS).unref();
    server.once('close', () => clearInterval(sweeper));
  }

  /** Closes connections that send requests without waiting for answers. Call before any other hook is added. */
  limitPipelining(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
      // A response without a socket waits for the response before it.
      if (response.socket === null && this.exceedsPipelining(socket, response)) socket.destroy();
      // The parser goes on with what it has already received.
      if (!socket.destroyed) done();
    });
  }

  /** A credential was verified on the connection: from now on it does not count. */
  admit(socket: Socket): void {
    if (this.all.has(socket)) this.remove(socket);
  }

  /**
   * A call without a credential begins; it ends with its response. Until then its connection is not closed.
   * @throws DomainError `too_many_anonymous_calls`
   */
  work(socket: Socket, response: ServerResponse): void {
    // Whoever hung up while it was admitted holds nothing: no event would tell of its end any more.
    if (response.destroyed) return;
    const address = addressOf(socket);
    const ofAddress = this.working.get(address) ?? 0;
    // A response without a socket would not tell when its connection is closed.
    const isPipelined = response.socket === null;
    if (isPipelined || this.workingInAll >= this.maxWorking || ofAddress >= this.maxPerAddress) {
      throw new DomainError('too_many_anonymous_calls', 'Please try again shortly, or present a credential.', [], {
        headers: { 'retry-after': '1' },
      });
    }
    this.remove(socket);
    this.workingInAll++;
    this.working.set(address, ofAddress + 1);
    response.once('close', () => {
      this.workingInAll--;
      const left = (this.working.get(address) ?? 1) - 1;
      if (left === 0) this.working.delete(address);
      else this.working.set(address, left);
      if (!socket.destroyed) this.add(socket);
    });
  }

  private exceedsPipelining(socket: Socket, response: ServerResponse): boolean {
    const waiting = (this.pipelined.get(socket) ?? 0) + 1;
    this.pipelined.set(socket, waiting);
    response.once('close', () => this.pipelined.set(socket, (this.pipelined.get(socket) ?? 1) - 1));
    return waiting > MAX_PIPELINED;
  }

  private add(socket: Socket): void {
    const address = addressOf(socket);
    const group = this.ofAddress.get(address) ?? new Set();
    this.ofAddress.set(address, group.add(socket));
    this.all.set(socket, performance.now());
    if (group.size > this.maxPerAddress) this.closeFirst(group);
    else if (this.all.size > this.max) this.closeFirst(this.all.keys());
  }

  private remove(socket: Socket): void {
    if (!this.all.delete(socket)) return;
    const address = addressOf(socket);
    const group = this.ofAddress.get(address);
    group?.delete(socket);
    if (group?.size === 0) this.ofAddress.delete(address);
  }

  private closeAged(): void {
    const bornBefore = performance.now() - MAX_AGE_MS;
    for (const [socket, since] of this.all) {
      if (since > bornBefore) return;
      this.close(socket);
    }
  }

  private closeFirst(sockets: Iterable<Socket>): void {
    const [oldest] = sockets;
    if (oldest !== undefined) this.close(oldest);
  }

  private close(socket: Socket): void {
    this.remove(socket);
    socket.destroy();
  }
}

const ADDRESSES = new WeakMap<Socket, string>();

/** Of IPv6 the network, since a host has as many addresses in it as it likes. Kept, because a closed socket has none. */
function addressOf(socket: Socket): string {
  const known = ADDRESSES.get(socket);
  if (known !== undefined) return known;
  const { remoteAddress = '' } = socket;
  const address = isIPv6(remoteAddress) && !remoteAddress.includes('.') ? networkOf(remoteAddress) : remoteAddress;
  ADDRESSES.set(socket, address);
  return address;
}

/** The /64 of an IPv6 address. */
function networkOf(address: string): string {
  const [head = '', tail] = address.split('::', 2);
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : 8 - groups.length - after.length;
  return [...groups, ...Array<string>(zeros).fill('0'), ...after].slice(0, 4).join(':');
}
