import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../core/domain-error.js';
import { newId } from '../../core/ids.js';
import type { InboundMessage } from '../protocol/inbound-message.js';
import { isModernMessage } from '../protocol/mcp-headers.js';
import { requireSessionless } from '../protocol/method-rules.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { SealedSessions, type Session, unknownSession } from './session/sealed-sessions.js';
import { requireTranslatable } from '../protocol/translatable-methods.js';
import { LEGACY_VERSIONS } from '../protocol/protocol-versions.js';
import { pooledRoute, type Route } from './forwarding-context.js';

/** Chooses the route of a caller's message. */
@Injectable()
export class UpstreamRouter {
  constructor(private readonly sessions: SealedSessions) {}

  /** @throws DomainError `session_not_found`, `invalid_rpc_request` or `unknown_method` */
  routeOf(request: FastifyRequest, message: InboundMessage, caller: ProxyCaller): Route {
    if (isModernMessage(request.headers, message)) return { kind: 'stateless' };
    const session = this.sessionOf(request, caller);
    if (message.method === 'initialize') return { kind: 'opening', key: newId() };
    if (session?.isTranslated === true) {
      if (message.kind === 'request' && message.method !== 'ping') requireTranslatable(message);
      return pooledRoute({ caller, message }, session);
    }
    if (session !== undefined) return { kind: 'session', session };
    requireSessionless(message);
    const version = request.headers['mcp-protocol-version'];
    if (version !== undefined && !LEGACY_VERSIONS.has(String(version))) {
      throw new DomainError('invalid_rpc_request', 'The MCP-Protocol-Version header names an unsupported version.');
    }
    return pooledRoute({ caller, message });
  }

  /** @throws DomainError `session_not_found` */
  sessionOf(request: FastifyRequest, { connection, principal }: ProxyCaller): Session | undefined {
    const id = request.headers['mcp-session-id'];
    if (id === undefined) return undefined;
    const session = this.sessions.open(String(id), connection, principal);
    if (session.hasUrlElicitation === true) request.hasUrlElicitation = true;
    // Callers without a credential never have a program process of their own.
    const isOwnProgram = connection.type === 'STDIO' && session.isTranslated !== true;
    if (isOwnProgram && principal === undefined) throw unknownSession();
    return session;
  }
}
