import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { Connection } from '../../../connections/connection.js';
import { OpenConnections } from '../../../connections/open-connections.js';
import { DomainError } from '../../../core/domain-error.js';
import { newId } from '../../../core/ids.js';
import { isRecord } from '../../../core/is-record.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { STATE_AGE_MS } from '../session/request-states.js';
import { SealedRequestIds } from '../session/sealed-request-ids.js';
import type { Session } from '../session/sealed-sessions.js';
import { atMost, half, type Holder, Shares } from '../../../core/sharing/shares.js';
import { UpstreamError } from '../../../upstreams/contract/upstream-error.js';

/** How much waits for clients in this process, and how much of it for one caller. */
const MAX_WAITING = 2_000;
const MAX_WAITING_OF_CALLER = 100;
/** What the clients are asked and have sent, in units of JSON text. */
const MAX_SIZE = 64 * 1024 * 1024;

/** How many requests of one call can wait for the client; further ones are refused. */
export const MAX_QUESTIONS = 8;
/** In UTF-16 code units. */
export const MAX_QUESTION_SIZE = 1024 * 1024;

/** Places for what waits in this process until a client answers a question of an upstream. */
@Injectable()
export class WaitingPlaces {
  private readonly places = new Shares(MAX_WAITING, [half, atMost(MAX_WAITING_OF_CALLER)]);
  private readonly sizes = new Shares(MAX_SIZE, [half, half]);

  /**
   * Returns a function that gives the place back. Call it once.
   * @param holder the organization and the caller
   * @throws UpstreamError `busy`
   */
  enter(holder: Holder, size: number): () => void {
    const claim = { holder, also: { of: this.sizes, holder, units: size } };
    if (!this.places.tryTake(claim)) {
      throw new UpstreamError('busy', 'Too many calls wait for answers of their clients.');
    }
    return () => this.places.giveBack(claim);
  }
}

/** This process, which alone can take the answers to what it has asked. */
export const THIS_PROCESS = newId();

/** A request in this process. */
interface WaitingRequest extends PromiseWithResolvers<object> {
  readonly sessionKey: string;
  isAnswered: boolean;
  /** Counts what the client has sent until the request is closed. @throws UpstreamError `busy` */
  readonly keep: (size: number) => void;
}

/** Where an answer to a request of this service belongs. */
interface OwnTarget {
  readonly process: string;
  readonly request: string;
}

/** The connection whose upstream asks, and whose quota it uses. */
interface AskedCaller {
  readonly connection: Pick<Connection, 'id' | 'revision' | 'organizationId'>;
  readonly key: string;
}

/** A request that a client has not answered. */
export interface OpenRequest {
  /** As the client knows it. */
  readonly id: string;
  /** Resolves with the client's result. Rejects with the `ProtocolError` or `UpstreamError` that takes its place. */
  readonly answer: Promise<object>;
  /** True if the client has answered, with a result or an error. */
  readonly isAnswered: boolean;
  /** Ends the wait. Later answers are ignored. */
  readonly close: () => void;
}

/**
 * The requests that this process has sent to clients in their sessions with this service, and whose answers it awaits,
 * for ten minutes at most, and no longer than the session and the connection exist. An answer arrives as a message of
 * its own. Only the process that has sent the request can take it.
 */
@Injectable()
export class OpenRequests implements BeforeApplicationShutdown {
  private readonly open = new Map<string, WaitingRequest>();

  constructor(
    private readonly ids: SealedRequestIds,
    private readonly places: WaitingPlaces,
    private readonly connections: OpenConnections,
  ) {}

  /**
   * Awaits the answer to a request in this session. Close it in any case.
   * @param caller who is asked by an upstream of this connection
   * @param size of what is kept until then
   * @throws UpstreamError `busy`
   */
  openRequest(session: Session, { connection, key }: AskedCaller, size: number): OpenRequest {
    const target: OwnTarget = { process: THIS_PROCESS, request: newId() };
    const id = this.ids.seal(session, target);
    if (id === undefined) throw new Error('An id of this service has a fixed length.');
    const holder = [connection.organizationId, key];
    let leave = this.places.enter(holder, size);
    const waiting: WaitingRequest = {
      ...Promise.withResolvers<object>(),
      sessionKey: session.key,
      isAnswered: false,
      keep: (more) => {
        leave();
        leave = () => undefined;
        leave = this.places.enter(holder, size + more);
      },
    };
    // It can be closed while nothing waits for it.
    waiting.promise.catch(() => undefined);
    this.open.set(target.request, waiting);
    const giveUp = (): void => waiting.reject(noAnswer());
    const timer = setTimeout(giveUp, STATE_AGE_MS).unref();
    const unwatch = this.connections.watchConnection(connection, giveUp);
    return {
      id,
      answer: waiting.promise,
      get isAnswered() {
        return waiting.isAnswered;
      },
      close: () => {
        if (!this.open.delete(target.request)) return;
        clearTimeout(timer);
        unwatch();
        leave();
        giveUp();
      },
    };
  }

  /** Gives up what is asked in a session that has ended. */
  endSession({ key }: Session): void {
    for (const { sessionKey, reject } of this.open.values()) if (sessionKey === key) reject(noAnswer());
  }

  /**
   * Gives a client's answer to what waits for it. An answer that comes again or too late is ignored. Returns false if
   * it answers no request of this service.
   * @throws DomainError `invalid_rpc_request` for an id that is not of this session, or an answer of another form;
   *   `conflict` if another process has sent the request
   */
  takeAnswer(session: Session, { body }: InboundMessage): boolean {
    const { id, result, error } = JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    const target = this.ids.open(session, id);
    if (!isOwn(target)) return false;
    if (target.process !== THIS_PROCESS) {
      throw new DomainError(
        'conflict',
        'Another process of the service has sent this request. Route the requests of a session to one process.',
      );
    }
    if (!isRecord(result) && !isRpcError(error)) {
      throw new DomainError(
        'invalid_rpc_request',
        'An answer needs a `result` that is an object, or an `error` with `code` and `message`.',
      );
    }
    const waiting = this.open.get(target.request);
    if (waiting === undefined || waiting.isAnswered) return true;
    waiting.isAnswered = true;
    try {
      waiting.keep(body.length);
      if (isRecord(result)) waiting.resolve(result);
      else if (isRpcError(error)) waiting.reject(new ProtocolError(error.code, error.message));
    } catch (busy) {
      waiting.reject(busy);
    }
    return true;
  }

  beforeApplicationShutdown(): void {
    for (const { reject } of this.open.values()) reject(noAnswer());
  }
}

/** What a call fails with if its client does not answer. */
export function noAnswer(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, 'The client did not answer.');
}

function isOwn(target: object): target is OwnTarget {
  return 'process' in target;
}

function isRpcError(error: unknown): error is { code: number; message: string } {
  return isRecord(error) && Number.isInteger(error['code']) && typeof error['message'] === 'string';
}
