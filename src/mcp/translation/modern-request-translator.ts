import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AuditDoor } from '../../audit/audit-record.js';
import { DomainError } from '../../common/domain-error.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import type { Dispatch } from '../forwarding/upstream-sender.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import { MODERN_VERSIONS } from '../protocol/mcp-headers.js';
import { ModernRequests } from './modern-requests.js';
import { offersMore, requireEnvelope, unsupportedVersion, withoutEnvelope } from './modern-envelope.js';
import { UpstreamEras } from './upstream-eras.js';

type Asked = Omit<Dispatch, 'headers'> & { message: InboundRequest };

/** MCP 2026-07-28, "Error codes". */
const UNSUPPORTED_VERSION = -32022;

/**
 * One request of the modern era: to an upstream that speaks it as the bytes that came, to any other one as the same request of
 * the legacy era, in the session that callers without one share.
 */
@Injectable()
export class ModernRequestTranslator {
  constructor(
    private readonly requests: RequestForwarder,
    private readonly translated: ModernRequests,
    private readonly eras: UpstreamEras,
  ) {}

  /** @throws DomainError */
  async answer(request: FastifyRequest, reply: FastifyReply, door: AuditDoor, asked: Asked): Promise<void> {
    const { message } = asked;
    if (await this.passesAsBytes(asked)) {
      await this.requests.answer(request, reply, door, asked);
      return;
    }
    const requested = unsupportedVersion(message);
    if (requested !== undefined) {
      const data = { supported: MODERN_VERSIONS, requested };
      const error = { code: UNSUPPORTED_VERSION, message: 'The protocol version is not supported.', data };
      const text = `{"jsonrpc":"2.0","id":${message.id},"error":${JSON.stringify(error)}}`;
      await reply.status(400).header('content-type', 'application/json').send(text);
      return;
    }
    requireEnvelope(request.headers, message);
    const translated = { ...asked, message: withoutEnvelope(message), route: { kind: 'shared' } as const };
    await this.translated.answer(request, reply, door, translated);
  }

  private async passesAsBytes({ caller: { connection }, message, scope }: Asked): Promise<boolean> {
    const isProgram = connection.type !== 'HTTP';
    // Such a client, told that there is no modern era, goes on with `initialize`, and then all of it can be made use of.
    if (message.method === 'server/discover' && offersMore(message)) {
      if (isProgram) throw new DomainError('unknown_method', 'With these capabilities, open a session: `initialize`.');
      return true;
    }
    // A program has one session for each caller who opens one, and the modern era has none. The inactive are refused either way.
    if (isProgram || connection.status === 'inactive') return !isProgram;
    try {
      return (await this.eras.of(connection, scope.signal)).isModern;
    } catch (error) {
      if (!(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      // What keeps the upstream from being asked is found, recorded and told on the usual way.
      return true;
    }
  }
}
