import { Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { DomainError } from '../../common/domain-error.js';
import { newId } from '../../common/ids.js';
import type { InboundMessage } from '../jsonrpc/inbound-message.js';
import { isModernRequest, modernVersionOf } from '../mcp-headers.js';
import { requireSessionless } from '../method-rules.js';
import type { ProxyCaller } from '../proxy-caller.js';
import { SealedSessions, type Session } from '../session/sealed-sessions.service.js';
import type { Route } from './route.js';

/** The revisions that a caller without a session may name in `MCP-Protocol-Version`. */
const KNOWN_VERSIONS: ReadonlySet<string> = new Set(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']);

/** Finds the way that a caller's message takes. */
@Injectable()
export class Router {
  constructor(private readonly sessions: SealedSessions) {}

  /** @throws DomainError `session_not_found` or `invalid_rpc_request` */
  routeOf(request: FastifyRequest, message: InboundMessage, caller: ProxyCaller): Route {
    if (isModernRequest(request.headers) || modernVersionOf(message) !== undefined) {
      // A client that could not know it goes on with `initialize`.
      if (caller.connection.type !== 'HTTP')
        throw new DomainError('unknown_method', 'This connection has sessions only.');
      return { kind: 'stateless' };
    }
    const session = this.sessionOf(request, caller);
    if (message.method === 'initialize') return { kind: 'opening', key: newId() };
    if (session !== undefined) return { kind: 'session', session };
    requireSessionless(message);
    const version = request.headers['mcp-protocol-version'];
    if (version !== undefined && !KNOWN_VERSIONS.has(String(version))) {
      throw new DomainError('invalid_rpc_request', 'The header MCP-Protocol-Version names no version that is known.');
    }
    return { kind: 'shared' };
  }

  /** @throws DomainError `session_not_found` */
  sessionOf(request: FastifyRequest, { connection, principal }: ProxyCaller): Session | undefined {
    const id = request.headers['mcp-session-id'];
    return id === undefined ? undefined : this.sessions.open(String(id), connection, principal);
  }
}
