import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import { DomainError } from '../../../core/domain-error.js';
import { newId } from '../../../core/ids.js';
import { isRecord } from '../../../core/is-record.js';
import type { Holder } from '../../../core/sharing/shares.js';
import type { InboundMessage } from '../../protocol/inbound-message.js';
import { STATE_AGE_MS } from '../session/request-states.js';
import { SealedRequestIds } from '../session/sealed-request-ids.js';
import type { Session } from '../session/sealed-sessions.js';
import { THIS_PROCESS } from './this-process.js';
import { WaitingPlaces } from './waiting-places.js';

/** Where an answer to a request of this service belongs. */
interface OwnTarget {
  readonly process: string;
  readonly request: string;
}

/** A request that a client has not answered. */
export interface OpenRequest {
  /** As the client knows it. */
  readonly id: string;
  /** Resolves with the client's result. Rejects with the `ProtocolError` that takes its place. */
  readonly answer: Promise<object>;
  /** Ends the wait. Later answers are ignored. */
  readonly close: () => void;
}

/**
 * The requests that this process has sent to clients in their sessions with this service, and whose answers it awaits,
 * for ten minutes at most. An answer arrives as a message of its own. Only the process that has sent the request can
 * take it.
 */
@Injectable()
export class OpenRequests implements BeforeApplicationShutdown {
  private readonly open = new Map<string, PromiseWithResolvers<object>>();

  constructor(
    private readonly ids: SealedRequestIds,
    private readonly places: WaitingPlaces,
  ) {}

  /**
   * Awaits the answer to a request in this session. Close it in any case.
   * @param size of what is kept until then
   * @throws UpstreamError `busy`
   */
  openRequest(session: Session, holder: Holder, size: number): OpenRequest {
    const target: OwnTarget = { process: THIS_PROCESS, request: newId() };
    const id = this.ids.seal(session, target);
    if (id === undefined) throw new Error('An id of this service has a fixed length.');
    const leave = this.places.enter(holder, size);
    const answered = Promise.withResolvers<object>();
    // It can be closed while nothing waits for it.
    answered.promise.catch(() => undefined);
    this.open.set(target.request, answered);
    const timer = setTimeout(() => answered.reject(noAnswer()), STATE_AGE_MS).unref();
    return {
      id,
      answer: answered.promise,
      close: () => {
        if (!this.open.delete(target.request)) return;
        clearTimeout(timer);
        leave();
        answered.reject(noAnswer());
      },
    };
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
        'Another process of the service waits for this answer. Route the requests of a session to one process.',
      );
    }
    const answered = this.open.get(target.request);
    if (isRecord(result)) answered?.resolve(result);
    else if (isRpcError(error)) answered?.reject(new ProtocolError(error.code, error.message));
    else {
      throw new DomainError(
        'invalid_rpc_request',
        'An answer needs a `result` that is an object, or an `error` with `code` and `message`.',
      );
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
