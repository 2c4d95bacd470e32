import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { OpenCredentials } from '../../identity/credentials/open-credentials.js';
import type { Principal } from '../../core/principal.js';
import { onceClosed } from '../../platform/http/once-closed.js';

/**
 * The credential of a call is watched only after this time. Most calls end earlier, and cost only an entry in a set.
 */
const WATCH_AFTER_MS = 500;

interface Call {
  readonly principal: Principal;
  readonly reply: FastifyReply;
  unwatch?: () => void;
}

/** Closes the active calls of an API key that is deleted or expires. To upstreams, the caller has hung up. */
@Injectable()
export class ActiveCalls implements OnApplicationShutdown {
  private recent = new Set<Call>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly credentials: OpenCredentials) {}

  trackCall(principal: Principal, reply: FastifyReply): void {
    const call: Call = { principal, reply };
    this.recent.add(call);
    this.timer ??= setTimeout(() => this.watchRecent(), WATCH_AFTER_MS).unref();
    onceClosed(reply, () => {
      if (!this.recent.delete(call)) call.unwatch?.();
    });
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
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
