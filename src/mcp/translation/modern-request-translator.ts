import { Injectable } from '@nestjs/common';
import { DomainError } from '../../common/domain-error.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import type { ForwardingContext } from '../forwarding/forwarding-context.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import type { InboundRequest } from '../protocol/inbound-message.js';
import { MODERN_VERSIONS } from '../protocol/protocol-versions.js';
import { offersMore, requireEnvelope, unsupportedVersion, withoutEnvelope } from './modern-envelope.js';
import { ModernSender } from './modern-sender.js';
import { UpstreamEras } from './upstream-eras.js';

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
    private readonly sender: ModernSender,
    private readonly eras: UpstreamEras,
  ) {}

  /** @throws DomainError */
  async forward(context: ForwardingContext<InboundRequest>): Promise<void> {
    const { message, request, reply } = context;
    if (await this.passesAsBytes(context)) {
      await this.requests.forward(context);
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
    const legacy = { ...context, message: withoutEnvelope(message), route: { kind: 'shared' } as const };
    await this.requests.forward(legacy, { sender: this.sender });
  }

  private async passesAsBytes({ caller: { connection }, message, deadline }: ForwardingContext<InboundRequest>) {
    const isProgram = connection.type !== 'HTTP';
    // A client with such capabilities falls back to `initialize`, and then all of them can be used.
    if (message.method === 'server/discover' && offersMore(message)) {
      if (isProgram) throw new DomainError('unknown_method', 'With these capabilities, open a session: `initialize`.');
      return true;
    }
    // A program has one session for each caller who opens one, and the modern era has none. Inactive ones are refused either way.
    if (isProgram || connection.status === 'inactive') return !isProgram;
    try {
      return (await this.eras.of(connection, deadline.signal)).isModern;
    } catch (error) {
      if (!(error instanceof UpstreamError) && !(error instanceof DomainError)) throw error;
      // The ordinary way finds, records and reports why the upstream cannot be asked.
      return true;
    }
  }
}
