import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import type { Dispatch } from '../forwarding/upstream-sender.js';
import { SealedSessions } from '../forwarding/session/sealed-sessions.js';
import { SessionOpening } from '../forwarding/session-opening.js';

/** Gives a caller the id of a session that its upstream opened, or of one that is translated. */
@Injectable()
export class TranslatedSessionOpening extends SessionOpening {
  constructor(private readonly sealed: SealedSessions) {
    super(sealed);
  }

  override announce(reply: FastifyReply, answer: UpstreamAnswer, dispatch: Omit<Dispatch, 'headers'>): void {
    if (!('isTranslated' in answer)) {
      super.announce(reply, answer, dispatch);
      return;
    }
    const { connection, principal } = dispatch.caller;
    const session = { hasOwnTools: false, isTranslated: true as const };
    reply.header('mcp-session-id', this.sealed.seal(session, connection, principal));
  }
}
