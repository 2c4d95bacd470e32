import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import {
  createServer,
  type IncomingMessage,
  maxHeaderSize as DEFAULT_HEADER_BYTES,
  request as openRequest,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { ServiceSlot } from '../../core/config/app-config.js';
import type { AnonymousConnections } from './anonymous-connections.js';
import { slotOf } from './session-slots.js';
import { limitUnreadBody } from './unread-bodies.js';

const SESSION_ID = 'mcp-session-id';
/** On the sockets between processes only: the address of the caller. */
const CALLER_ADDRESS = 'signalbox-caller-address';
/** On the same sockets, in the `102` for a call without a credential. */
const ANONYMOUS = 'signalbox-anonymous';
/** How long the other process has to refuse or admit a call. */
const PEER_WITHIN_MS = 30_000;
const MAX_ANSWER_HEADER_BYTES = 64 * 1024;
/** They concern one connection (RFC 9110, section 7.6.1). `100 Continue` is this process's. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'upgrade', 'expect']);

/**
 * Passes requests of a session to the process that has its state. Each process listens on a Unix socket in a folder
 * that only the service's user can enter. A request is passed on before anything is done for it, so that the other
 * process alone authenticates, counts and logs it, as if the caller had connected there. If the other process does not
 * run, this one handles the request.
 */
export class Peers {
  #server: Server | undefined;
  /** How to tell the process of the caller that the call is admitted, by the connection of the request. */
  readonly #admissions = new WeakMap<Socket, (header: string) => void>();
  #connections: AnonymousConnections | undefined;

  constructor(
    private readonly slot: ServiceSlot,
    private readonly logger: Pick<Logger, 'warn'>,
  ) {}

  /** The HTTP server for callers, and the one for the other processes. */
  createServer(handler: RequestListener, options: ServerOptions): Server {
    const { maxHeaderSize = DEFAULT_HEADER_BYTES } = options;
    // What the first process has accepted is accepted here, with the header that it adds.
    const ofPeers = { ...options, maxHeaderSize: 2 * maxHeaderSize, requireHostHeader: false };
    this.#server ??= createServer(ofPeers, (request, response) => {
      // One request for each connection: a second one would have no caller of its own.
      if (this.#admissions.has(request.socket)) return void request.socket.destroy();
      this.#receive(request);
      handler(request, response);
    });
    const callers = createServer(options, (request, response) => {
      const slot = slotOf(request.headers[SESSION_ID] as string | undefined);
      // A response without a socket waits for a previous one: such requests are counted here.
      if (slot === undefined || slot === this.slot.number || response.socket === null) handler(request, response);
      else this.#passOn(slot, request, response, () => handler(request, response));
    });
    // Some versions of Node.js drop headers beyond a number, and with them the length of the body.
    callers.maxHeadersCount = 0;
    this.#server.maxHeadersCount = 0;
    return callers;
  }

  /** Call before the server listens. */
  async serveOn(fastify: FastifyInstance, connections: AnonymousConnections): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#connections = connections;
    connections.onAdmitted = (socket) => this.#admissions.get(socket)?.('');
    connections.onServing = (socket) => this.#admissions.get(socket)?.(`${ANONYMOUS}: 1\r\n`);
    fastify.addHook('preClose', (done) => {
      server.close();
      done();
    });
    fastify.addHook('onClose', (_fastify, done) => {
      server.closeAllConnections();
      done();
    });
    const path = this.#pathOf(this.slot.number);
    // A killed process leaves its socket behind.
    await rm(path, { force: true });
    // Otherwise, the supervisor would listen and hand out the connections.
    await once(server.listen({ path, exclusive: true }), 'listening');
  }

  #pathOf(slot: number): string {
    return join(this.slot.folder, String(slot));
  }

  #receive({ headers, socket }: IncomingMessage): void {
    const value = headers[CALLER_ADDRESS];
    Object.defineProperty(socket, 'remoteAddress', { value });
    delete headers[CALLER_ADDRESS];
    // Nothing else has been sent on this connection, which has one request.
    this.#admissions.set(socket, (header) => socket.write(`HTTP/1.1 102 Processing\r\n${header}\r\n`));
  }

  #passOn(slot: number, request: IncomingMessage, response: ServerResponse, handle: () => void): void {
    const socket = connect(this.#pathOf(slot));
    const onGone = (): void => void socket.destroy();
    response.once('close', onGone);
    socket.once('error', () => {
      response.off('close', onGone);
      if (!response.destroyed) handle();
    });
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      limitUnreadBody(request, response);
      this.#send(slot, request, response, socket);
    });
  }

  #send(slot: number, request: IncomingMessage, response: ServerResponse, socket: Socket): void {
    const { method, url, headers } = request;
    const passed = openRequest({
      maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
      ...(method !== undefined && { method }),
      path: url ?? '/',
      headers: [
        CALLER_ADDRESS,
        addressOf(request.socket),
        'connection',
        'close',
        ...framingOf(headers),
        ...ofMessage(request.rawHeaders),
      ],
      createConnection: () => socket,
    });
    // Until then, this process closes the connection when it is old, or one of too many.
    passed.on('information', (information) => {
      if (information.headers[ANONYMOUS] === undefined) this.#connections?.admitConnection(request.socket);
      else this.#connections?.keepOpen(request.socket, response);
    });
    // A call is admitted before its body is read, so a process that says nothing hangs.
    const silence = setTimeout(() => passed.destroy(), PEER_WITHIN_MS).unref();
    for (const sign of ['information', 'response', 'close']) passed.once(sign, () => clearTimeout(silence));
    passed.once('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, ofMessage(answer.rawHeaders));
      // Event streams begin before their first event.
      response.flushHeaders();
      // An answer that breaks off does so for the caller, too.
      pipeline(answer, response, () => undefined);
    });
    // The other process has ended, or has answered without reading the body.
    passed.on('error', (error) => {
      if (response.destroyed) return;
      this.logger.warn({ process: slot, err: error }, 'Another service process did not answer a request');
      if (!response.headersSent) response.destroy();
    });
    request.pipe(passed);
    request.once('error', () => passed.destroy());
  }
}

/** Headers as names and values in turn, without those that concern one connection. */
function ofMessage(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    const known = name.toLowerCase();
    if (OF_CONNECTION.has(known) || known === 'transfer-encoding' || known === CALLER_ADDRESS) continue;
    kept.push(name, value);
  }
  return kept;
}

/** Node would send a body of unknown length where there is none. */
function framingOf(headers: IncomingMessage['headers']): string[] {
  if (headers['transfer-encoding'] !== undefined) return ['transfer-encoding', 'chunked'];
  return headers['content-length'] === undefined ? ['content-length', '0'] : [];
}

function addressOf({ remoteAddress = '' }: Socket): string {
  return remoteAddress;
}
