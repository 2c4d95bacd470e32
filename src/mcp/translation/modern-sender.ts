import { Injectable } from '@nestjs/common';
import { UpstreamChannels } from '../../upstreams/channels/upstream-channels.js';
import type { ServerDescription } from '../../upstreams/contract/server-description.js';
import { UpstreamHealth } from '../../upstreams/pool/upstream-health.js';
import { type Dispatch, type Sent, UpstreamSender } from '../forwarding/upstream-sender.js';
import { translatableCapabilities, requireTranslatable } from '../protocol/translatable-methods.js';
import { MODERN_VERSIONS } from '../protocol/mcp-headers.js';
import { ownAnswer } from './own-answer.js';
import { toModernAnswer, toModernMessage } from './to-modern-answer.js';
import { UpstreamEras } from './upstream-eras.js';

/** Sends what clients of the modern era ask to upstreams that cannot be asked in that era. */
@Injectable()
export class ModernSender extends UpstreamSender {
  constructor(
    channels: UpstreamChannels,
    health: UpstreamHealth,
    private readonly eras: UpstreamEras,
  ) {
    super(channels, health);
  }

  /** @throws DomainError `connection_unavailable`, `unknown_method`, UpstreamError */
  override async send(dispatch: Dispatch): Promise<Sent> {
    const { caller, message, scope } = dispatch;
    if (message.kind !== 'request') throw new Error('Only requests are translated.');
    const { id, method } = message;
    const serverDescription = await this.eras.of(caller.connection, scope.signal);
    if (method === 'server/discover') return { answer: ownAnswer(discovery(id, serverDescription)) };
    requireTranslatable(message);
    const { answer, sentId } = await super.send(dispatch);
    return { answer: toModernAnswer(answer, { method, serverInfo: serverDescription.serverInfo }), sentId };
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
