import type { IncomingMessage } from 'node:http';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import type { Principal } from '../../core/principal.js';
import { addOnRequest } from '../../identity/auth/early-admission.js';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import type { AnonymousConnections } from '../../platform/http/anonymous-connections.js';
import { onceClosed } from '../../platform/http/once-closed.js';
import { hasBody } from '../../platform/http/unread-bodies.js';
import { CallerResolver } from './caller-resolver.js';
import { McpErrorResponder } from './mcp-error-responder.js';

const MAX_ANONYMOUS_BODY_BYTES = 64 * 1024;
const ANONYMOUS_BODY_TIMEOUT_MS = 10_000;
/**
 * The credential of a call is watched only after this time. Most calls end earlier, and cost only an entry in a set.
 */
const WATCH_AFTER_MS = 500;

interface Call {
  readonly principal: Principal;
  readonly reply: FastifyReply;
  unwatch?: () => void;
}

/**
 * What MCP endpoints have in addition to other routes: HEAD, errors as JSON-RPC, callers without a credential, and
 * calls that end with their API key. `EarlyAdmission` has run the guard before.
 */
@Injectable()
export class McpRoutes implements OnApplicationShutdown {
  private recent = new Set<Call>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly callers: CallerResolver,
    private readonly credentials: OpenCredentials,
    private readonly errors: McpErrorResponder,
  ) {}

  /** Call before Nest registers its routes, and after `EarlyAdmission`. */
  serveOn(fastify: FastifyInstance, anonymousConnections: AnonymousConnections): void {
    fastify.addHook('onRoute', (route) => {
      if (route.config?.isMcpEndpoint !== true) return;
      // Answered by the same method, without a body.
      if (route.method === 'GET') fastify.route({ ...route, method: 'HEAD' });
      route.config = {
        ...route.config,
        answerError: (thrown, request, reply) => this.errors.respondWithError(thrown, request, reply),
      };
      addOnRequest(route, (request, reply, done) => {
        if (request.principal === undefined) {
          const onAdmitted = (): void => done();
          this.admitAnonymous(request, reply, anonymousConnections).then(onAdmitted, done);
        } else {
          this.trackCall(request.principal, reply);
          done();
        }
      });
    });
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  /**
   * Admits a request without a credential to public tools, before its body is read.
   * @throws DomainError `origin_refused`, `credential_missing`, `body_too_large`, `too_many_anonymous_calls`
   */
  private async admitAnonymous(
    request: FastifyRequest,
    reply: FastifyReply,
    anonymousConnections: AnonymousConnections,
  ): Promise<void> {
    await this.callers.admitAnonymous(request);
    if (Number(request.headers['content-length'] ?? 0) > MAX_ANONYMOUS_BODY_BYTES) throw tooLarge();
    anonymousConnections.work(request.raw.socket, reply.raw);
    // Fastify does not read the body of a GET.
    if (request.method !== 'GET' && hasBody(request.headers)) boundBody(request.raw);
  }

  /** Closes the call when its API key is deleted or expires. To upstreams, the caller has hung up. */
  private trackCall(principal: Principal, reply: FastifyReply): void {
    const call: Call = { principal, reply };
    this.recent.add(call);
    this.timer ??= setTimeout(() => this.watchRecent(), WATCH_AFTER_MS).unref();
    onceClosed(reply, () => {
      if (!this.recent.delete(call)) call.unwatch?.();
    });
  }

  private watchRecent(): void {
    this.timer = undefined;
    const pending = this.recent;
    this.recent = new Set();
    for (const call of pending) {
      call.unwatch = this.credentials.watchValidity(call.principal, () => call.reply.raw.destroy());
    }
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
  const timer = setTimeout(() => end(new DomainError('request_timeout')), ANONYMOUS_BODY_TIMEOUT_MS).unref();
  const count = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > MAX_ANONYMOUS_BODY_BYTES) end(tooLarge());
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
  return new DomainError(
    'body_too_large',
    `Without a credential, a body is limited to ${MAX_ANONYMOUS_BODY_BYTES} bytes.`,
  );
}
