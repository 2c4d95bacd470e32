import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import { networkOf } from '../../core/network-of.js';
import { atMost, Shares } from '../../core/sharing/shares.js';

/** The share of unauthenticated connections that one address can hold. */
const PER_ADDRESS = 1 / 4;
/** The share of them that can be serving calls. */
const SERVING = 1 / 2;
/** The maximum age of an unauthenticated connection that serves no call. */
const MAX_AGE_MS = 120_000;
const SWEEP_MS = 5_000;
/** Limit of requests on one connection that wait for the response to a previous request. */
const MAX_PIPELINED = 16;

/**
 * The connections without a verified credential. Beyond the limits, in total and per address, the oldest one is closed.
 * A flood therefore closes its own connections, while legitimate callers authenticate right after connecting.
 */
export class AnonymousConnections {
  /** Connection → time of its addition, oldest first. */
  private readonly all = new Map<Socket, number>();
  private readonly ofAddress = new Map<string, Set<Socket>>();
  /** The anonymous calls in progress, by address. */
  private readonly serving: Shares;
  private readonly pipelined = new WeakMap<Socket, number>();
  private readonly maxPerAddress: number;
  /** Called when the credential of a connection has been verified, at each of its requests. */
  onAdmitted: ((socket: Socket) => void) | undefined;
  /** Called when an anonymous call begins. */
  onServing: ((socket: Socket) => void) | undefined;

  /** @param max unauthenticated connections */
  constructor(private readonly max: number) {
    this.maxPerAddress = Math.ceil(max * PER_ADDRESS);
    this.serving = new Shares(Math.ceil(max * SERVING), [atMost(this.maxPerAddress)]);
  }

  /** Tracks the connections of the server. */
  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      this.add(socket);
      socket.once('close', () => this.remove(socket));
    });
    const sweeper = setInterval(() => this.closeAged(), SWEEP_MS).unref();
    server.once('close', () => clearInterval(sweeper));
  }

  /** Closes connections that pipeline too many requests. Call before any other hook is added. */
  limitPipelining(fastify: FastifyInstance): void {
    fastify.addHook('onRequest', ({ raw: { socket } }, { raw: response }, done) => {
      // A response without a socket waits for a previous response.
      if (response.socket === null && this.exceedsPipelining(socket, response)) destroyPipeline(socket);
      // The parser continues with data that it has already received.
      if (!socket.destroyed) done();
    });
  }

  /** Stops counting a connection after its credential has been verified. */
  admitConnection(socket: Socket): void {
    if (this.all.has(socket)) this.remove(socket);
    this.onAdmitted?.(socket);
  }

  /**
   * Registers an anonymous call. Its connection stays open until the response ends.
   * @throws DomainError `too_many_anonymous_calls`
   */
  work(socket: Socket, response: ServerResponse): void {
    // The caller disconnected during admission: no further `close` event would release its slot.
    if (response.destroyed) return;
    const call = { holder: [addressOf(socket)] };
    // A response without a socket emits no event when its connection closes.
    const isPipelined = response.socket === null;
    if (isPipelined || !this.serving.tryTake(call)) {
      throw new DomainError('too_many_anonymous_calls', 'Retry later, or send a credential.', [], {
        headers: { 'retry-after': '1' },
      });
    }
    response.once('close', () => this.serving.giveBack(call));
    this.keepOpen(socket, response);
    this.onServing?.(socket);
  }

  /** Keeps a connection open until the response to its anonymous call ends. */
  keepOpen(socket: Socket, response: ServerResponse): void {
    // A connection of another process of this service is counted there.
    if (!this.all.has(socket)) return;
    this.remove(socket);
    response.once('close', () => {
      if (!socket.destroyed) this.add(socket);
    });
  }

  private exceedsPipelining(socket: Socket, response: ServerResponse): boolean {
    const waiting = (this.pipelined.get(socket) ?? 0) + 1;
    this.pipelined.set(socket, waiting);
    // `once` would add a wrapper to each open stream.
    response.on('close', () => this.pipelined.set(socket, (this.pipelined.get(socket) ?? 1) - 1));
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
    const oldestAllowed = performance.now() - MAX_AGE_MS;
    for (const [socket, since] of this.all) {
      if (since > oldestAllowed) return;
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

/**
 * Destroys a connection with hundreds of waiting requests. Node.js gives each of them an error of its own, whose stack
 * trace costs more than everything else about the request, so these errors have none.
 */
function destroyPipeline(socket: Socket): void {
  if (socket.destroyed) return;
  const { stackTraceLimit } = Error;
  socket.prependOnceListener('close', () => (Error.stackTraceLimit = 0));
  socket.once('close', () => (Error.stackTraceLimit = stackTraceLimit));
  socket.destroy();
}

const ADDRESSES = new WeakMap<Socket, string>();

/** For IPv6 the network, because a host can use any address in it. Cached, because a closed socket has no address. */
function addressOf(socket: Socket): string {
  const known = ADDRESSES.get(socket);
  if (known !== undefined) return known;
  const { remoteAddress = '' } = socket;
  const address = networkOf(remoteAddress);
  ADDRESSES.set(socket, address);
  return address;
}
