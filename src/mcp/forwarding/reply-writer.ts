import { Readable } from 'node:stream';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { OpenCredentials } from '../../api-keys/open-credentials.js';
import { AnswerBudget } from '../../common/answers/answer-budget.js';
import { holdWhileSending } from '../../common/answers/hold-until-sent.js';
import { onceClosed } from '../../http/once-closed.js';
import type { RelayedAnswer } from './relay/relay-plan.js';

/** Keeps buffers between here and the caller from holding events back. */
const STREAM_HEADERS = { 'cache-control': 'no-cache, no-transform', 'x-accel-buffering': 'no' };

/** Sends relayed answers to their callers. */
@Injectable()
export class ReplyWriter {
  constructor(
    private readonly credentials: OpenCredentials,
    private readonly budget: AnswerBudget,
  ) {}

  /**
   * @param headers of the upstream's answer that may be relayed
   * @throws DomainError `answer_memory_exhausted`, for an answer that is complete
   */
  write(
    request: FastifyRequest,
    reply: FastifyReply,
    { status, contentType, body }: RelayedAnswer,
    headers: Readonly<Record<string, string>>,
  ): void {
    const isComplete = typeof body === 'string' || Buffer.isBuffer(body);
    if (isComplete) {
      holdWhileSending(this.budget, request.principal, reply, body);
    }
    reply.status(status).headers(headers);
    if (contentType !== undefined) reply.header('content-type', contentType);
    if (isComplete) {
      void reply.send(body);
      return;
    }
    if (contentType === 'text/event-stream') reply.headers(STREAM_HEADERS);
    this.watchCredential(request, reply);
    void reply.send(Readable.from(body, { objectMode: false }));
  }

  /** A response that stays open ends when its caller's credential does. */
  watchCredential({ principal }: FastifyRequest, reply: FastifyReply): void {
    if (principal === undefined) return;
    onceClosed(
      reply,
      this.credentials.watch(principal, () => reply.raw.destroy()),
    );
  }
}
