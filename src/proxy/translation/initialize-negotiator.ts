import { Injectable } from '@nestjs/common';
import { DomainError } from '../../core/domain-error.js';
import { hasOwnSessions } from '../../connections/connection.js';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import { UpstreamError } from '../../upstreams/contract/upstream-error.js';
import { discard } from '../../upstreams/messages/answer-body.js';
import type { UpstreamAnswer } from '../../upstreams/messages/upstream-channel.js';
import type { ServerDescription } from '../../upstreams/contract/upstream.js';
import { type InboundRequest, LATEST_LEGACY_VERSION, LEGACY_VERSIONS } from '../protocol/inbound-message.js';
import type { ProxyCaller } from '../protocol/proxy-caller.js';
import { translatableCapabilities } from '../protocol/protocol-eras.js';
import type { McpRequestContext } from '../forwarding/upstream-router.js';
import { brokenAnswer } from '../forwarding/relay/relay-plan.js';
import { parseRecord } from '../../core/is-record.js';
import { type MessageSender, ownAnswer, type Sent, UpstreamSender } from '../forwarding/upstream-sender.js';
import { gather } from './to-modern-answer.js';
import { sessionFeatures } from './session-features.js';
import { UpstreamEras } from './upstream-eras.js';

/**
 * Sends `initialize` upstream. If an upstream rejects a well-formed one because it supports only the modern era, the
 * service answers it instead. The service also answers the `initialize` of a caller without a credential to a program.
 */
@Injectable()
export class InitializeNegotiator implements MessageSender {
  constructor(
    private readonly upstream: UpstreamSender,
    private readonly channels: UpstreamChannels,
    private readonly eras: UpstreamEras,
  ) {}

  /** @throws DomainError `connection_unavailable`, UpstreamError */
  async sendMessage(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent> {
    const { connection, principal } = context.caller;
    // Anonymous callers cannot be told apart, so they share one process.
    const isUnknown = connection.type === 'STDIO' && principal === undefined;
    if (isUnknown || !hasOwnSessions(connection)) return this.openShared(context);
    let sent: Sent;
    try {
      const { answer, sentId } = await this.upstream.sendMessage(context, headers);
      const read = await this.read(answer, context);
      sent = { answer: read.answer, sentId };
      if (!read.isRefusal) return sent;
    } catch (error) {
      const mayBeRefusal = error instanceof UpstreamError && (error.kind === 'rpc' || error.kind === 'protocol');
      const translated = mayBeRefusal ? await this.translate(context) : undefined;
      if (translated === undefined) throw error;
      return translated;
    }
    const translated = await this.translate(context);
    if (translated === undefined) return sent;
    discard(sent.answer.body);
    return translated;
  }

  /** Reads a JSON answer as a whole, which is short, to see whether it is an error. */
  private async read(
    answer: UpstreamAnswer,
    { deadline }: McpRequestContext,
  ): Promise<{ answer: UpstreamAnswer; isRefusal: boolean }> {
    if (answer.contentType !== 'application/json') return { answer, isRefusal: false };
    const bytes = await gather(answer.body).catch((error: unknown) => {
      throw brokenAnswer(error, deadline);
    });
    const isRefusal = parseRecord(bytes.toString('utf8'))?.['error'] !== undefined;
    return { answer: { ...answer, body: bytes }, isRefusal };
  }

  /** Opens a session that exists only in this service. Its requests use one that the service opens at the upstream. */
  private async openShared({ caller, message, deadline }: McpRequestContext): Promise<Sent> {
    if (message.kind !== 'request' || !isWellFormed(message)) {
      throw new DomainError('invalid_rpc_request', 'The params of `initialize` must be those of MCP.');
    }
    const serverDescription = await this.eras.describeUpstream(caller.connection, deadline.signal);
    return {
      answer: ownAnswer(translatedInitialize(message, serverDescription, caller)),
      isTranslated: true,
    };
  }

  /** Undefined if the upstream rejected the request for another reason than the era. */
  private async translate(context: McpRequestContext): Promise<Sent | undefined> {
    const { caller, message, deadline } = context;
    if (message.kind !== 'request' || !isWellFormed(message)) return undefined;
    // If the era cannot be determined, the caller gets the upstream's refusal.
    const serverDescription = await this.eras
      .describeUpstream(caller.connection, deadline.signal)
      .catch(() => undefined);
    if (serverDescription?.isModern !== true) return undefined;
    await this.endProgram(context);
    const text = translatedInitialize(message, serverDescription, caller);
    return { answer: ownAnswer(text), isTranslated: true };
  }

  /** Ends the process that rejected the request, because it has no session. */
  private async endProgram({ caller: { connection }, route, deadline: { signal } }: McpRequestContext): Promise<void> {
    if (connection.type !== 'STDIO' || route.kind !== 'opening') return;
    const channel = await this.channels.session(connection, { key: route.key });
    await channel.end({ signal });
  }
}

/** True if this is an `initialize` that an upstream of the legacy era would accept. */
function isWellFormed({ params }: InboundRequest): boolean {
  const { protocolVersion, capabilities, clientInfo } = params;
  const { name, version } = (clientInfo ?? {}) as { name?: unknown; version?: unknown };
  const isObject = typeof capabilities === 'object' && capabilities !== null;
  return typeof protocolVersion === 'string' && isObject && typeof name === 'string' && typeof version === 'string';
}

/**
 * The answer to an `initialize` (MCP 2025-11-25, "Lifecycle") on behalf of an upstream of the modern era, as JSON text.
 * @param caller whose connection names an upstream that does not name itself
 */
function translatedInitialize(
  { id, params: { protocolVersion } }: InboundRequest,
  description: ServerDescription,
  caller: ProxyCaller,
): string {
  const { capabilities, instructions, serverInfo } = description;
  const result = {
    protocolVersion: LEGACY_VERSIONS.has(String(protocolVersion)) ? protocolVersion : LATEST_LEGACY_VERSION,
    capabilities: { ...translatableCapabilities(capabilities), ...sessionFeatures(description, caller) },
    serverInfo: serverInfo ?? { name: caller.connection.title, version: '0' },
    ...(instructions !== undefined && { instructions }),
  };
  return `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
}
