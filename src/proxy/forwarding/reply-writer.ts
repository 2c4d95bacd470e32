import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import { AnswerBudget, holdWhileSending } from '../../core/answers/answer-budget.js';
import type { Principal } from '../../core/principal.js';
import { GATHERED_BYTES, turnsOf } from '../../upstreams/messages/answer-body.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import type { RelayedAnswer } from './relay/relay-plan.js';

/** Keep proxies between this service and the caller from buffering events. */
const STREAM_HEADERS = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };

/**
 * Up to this size, Node sends the head and a text in one write for less than it takes to write a buffer after the head.
 */
const MAX_TEXT_BYTES = 4 * 1024;

/** Sends relayed answers to their callers. */
@Injectable()
export class ReplyWriter {
  constructor(
    private readonly credentials: OpenCredentials,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * @param headers of the upstream's answer to relay
   * @throws DomainError `answer_memory_exhausted`, for a complete answer
   */
  writeReply(
    request: FastifyRequest,
    reply: FastifyReply,
    { status, contentType, body, isHeld = false }: RelayedAnswer,
    headers: Readonly<Record<string, string>>,
  ): void {
    const isComplete = typeof body === 'string' || Buffer.isBuffer(body);
    if (isComplete && !isHeld) holdWhileSending(this.budget, request.principal, reply, body.length);
    reply.status(status).headers(headers);
    if (contentType !== undefined) reply.header('content-type', contentType);
    if (contentType === 'text/event-stream') reply.headers(STREAM_HEADERS);
    if (isComplete) {
      void reply.send(isShort(body) ? body.toString('utf8') : body);
      return;
    }
    this.watchPermissions(request, reply);
    void reply.send(Readable.from(body, { objectMode: false }));
  }

  /**
   * Sends a JSON text: a long one piece by piece and in turn with other work, because one text and one write of all of
   * it would hold up the process for tens of milliseconds.
   * @throws DomainError `answer_memory_exhausted`
   */
  writeJson(request: FastifyRequest, reply: FastifyReply, pieces: readonly string[]): void {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
    holdWhileSending(this.budget, request.principal, reply, length);
    reply.status(200).header('content-type', 'application/json');
    if (length <= GATHERED_BYTES) {
      void reply.send(pieces.join(''));
      return;
    }
    this.watchPermissions(request, reply);
    void reply.send(Readable.from(inTurns(pieces, request.principal), { objectMode: false }));
  }

  /** Ends an open response when the caller's credential is revoked or expires. */
  watchPermissions({ principal }: FastifyRequest, reply: FastifyReply): void {
    if (principal === undefined) return;
    onceClosed(
      reply,
      this.credentials.watchPermissions(principal, () => reply.raw.destroy()),
    );
  }
}

async function* inTurns(pieces: readonly string[], principal: Principal | undefined): AsyncGenerator<Buffer> {
  const turns = turnsOf(principal);
  for (const piece of pieces) {
    const turn = turns.next(piece.length);
    if (turn !== undefined) await turn;
    yield Buffer.from(piece);
  }
}

/** True if this is a small buffer with the same bytes as its text. */
function isShort(body: string | Buffer): body is Buffer {
  return typeof body !== 'string' && body.length <= MAX_TEXT_BYTES && isUtf8(body);
}
