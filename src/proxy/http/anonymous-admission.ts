import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import type { AnonymousConnections } from '../../platform/http/anonymous-connections.js';
import { hasBody } from '../../platform/http/unread-bodies.js';
import { CallerResolver } from './caller-resolver.js';

const MAX_BODY_BYTES = 64 * 1024;
const BODY_TIMEOUT_MS = 10_000;

/** Admits requests without a credential to public tools, before their bodies are read. */
@Injectable()
export class AnonymousAdmission {
  constructor(private readonly callers: CallerResolver) {}

  /** @throws DomainError `origin_refused`, `credential_missing`, `body_too_large`, `too_many_anonymous_calls` */
  async admitAnonymous(
    request: FastifyRequest,
    reply: FastifyReply,
    anonymousConnections: AnonymousConnections,
  ): Promise<void> {
    await this.callers.admitAnonymous(request);
    if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
    anonymousConnections.work(request.raw.socket, reply.raw);
    // Fastify does not read the body of a GET.
    if (request.method !== 'GET' && hasBody(request.headers)) boundBody(request.raw);
  }
}

/** Ends a body that is too long or takes too long. Its reader gets the error. */
function boundBody(body: IncomingMessage): void {
  let received = 0;
  const end = (error: DomainError): void => {
    stop();
    if (body.listenerCount('error') > 0) body.emit('error', error);
    else body.destroy();
  };
  const timer = setTimeout(() => end(new DomainError('request_timeout')), BODY_TIMEOUT_MS).unref();
  const count = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > MAX_BODY_BYTES) end(tooLarge());
  };
  const stop = (): void => {
    clearTimeout(timer);
    body.off('data', count).off('end', stop).off('close', stop);
  };
  // Nothing flows until the body is read.
  body.pause();
  body.on('data', count).once('end', stop).once('close', stop);
}

function tooLarge(): DomainError {
  return new DomainError('body_too_large', `Without a credential, a body is limited to ${MAX_BODY_BYTES} bytes.`);
}
