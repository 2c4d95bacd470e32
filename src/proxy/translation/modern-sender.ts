import { Injectable } from '@nestjs/common';
import { AnswerRooms } from '../../core/answers/answer-room.js';
import type { ServerDescription } from '../../upstreams/contract/server-description.js';
import type { McpRequestContext } from '../forwarding/upstream-router.js';
import { type MessageSender, type Sent, UpstreamSender } from '../forwarding/upstream-sender.js';
import { MODERN_VERSIONS } from '../protocol/protocol-versions.js';
import { requireTranslatable, translatableCapabilities } from '../protocol/translatable-methods.js';
import { ownAnswer } from './own-answer.js';
import { toModernAnswer, toModernMessage } from './to-modern-answer.js';
import { UpstreamEras } from './upstream-eras.js';

/** Sends requests of clients of the modern era to upstreams of the legacy era, and translates the answers. */
@Injectable()
export class ModernSender implements MessageSender {
  constructor(
    private readonly upstream: UpstreamSender,
    private readonly eras: UpstreamEras,
    private readonly rooms: AnswerRooms,
  ) {}

  /** @throws DomainError `connection_unavailable`, `unknown_method`, UpstreamError */
  async sendMessage(context: McpRequestContext, headers: Readonly<Record<string, string>>): Promise<Sent> {
    const { request, reply, caller, message, deadline } = context;
    if (message.kind !== 'request') throw new Error('Only requests are translated.');
    const { id, method } = message;
    const serverDescription = await this.eras.describeUpstream(caller.connection, deadline.signal);
    if (method === 'server/discover') return { answer: ownAnswer(discovery(id, serverDescription)) };
    requireTranslatable(message);
    const { answer, sentId } = await this.upstream.sendMessage(context, headers);
    const { serverInfo } = serverDescription;
    const response = { request, reply, rooms: this.rooms };
    return { answer: toModernAnswer(answer, { method, serverInfo }, response), sentId };
  }
}

/** @param id JSON text */
function discovery(id: string, { capabilities, instructions, serverInfo }: ServerDescription): string {
  const result = {
    supportedVersions: MODERN_VERSIONS,
    capabilities: translatableCapabilities(capabilities),
    ...(instructions !== undefined && { instructions }),
  };
  const text = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
  return toModernMessage(text, { method: 'server/discover', serverInfo });
}
