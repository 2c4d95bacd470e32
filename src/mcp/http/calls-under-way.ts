import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { OpenCredentials } from '../../api-keys/open-credentials.js';
import type { Principal } from '../../common/principal.js';
import { onceClosed } from '../../http/once-closed.js';

/** Calls that take longer have their credential watched. Most are over before, and cost an entry in a set. */
const BRIEF_MS = 500;

interface Call {
  readonly principal: Principal;
  readonly reply: FastifyReply;
  unwatch?: () => void;
}

/** Cuts off the calls under way of an API key that is deleted or expires; to their upstreams that is a caller who hangs up. */
@Injectable()
export class CallsUnderWay implements OnApplicationShutdown {
  private recent = new Set<Call>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly credentials: OpenCredentials) {}

  add(principal: Principal, reply: FastifyReply): void {
    const call: Call = { principal, reply };
    this.recent.add(call);
    this.timer ??= setTimeout(() => this.watchRecent(), BRIEF_MS).unref();
    onceClosed(reply, () => {
      if (!this.recent.delete(call)) call.unwatch?.();
    });
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  private watchRecent(): void {
    this.timer = undefined;
    const lasting = this.recent;
    this.recent = new Set();
    for (const call of lasting) {
      call.unwatch = this.credentials.watchKey(call.principal.apiKeyId, () => call.reply.raw.destroy());
    }
  }
}
