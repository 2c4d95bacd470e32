import { Injectable } from '@nestjs/common';
import { UpstreamChannels } from '../../upstreams/channel/upstream-channels.service.js';
import type { Introduction } from '../../upstreams/introduction.js';
import { UpstreamHealth } from '../../upstreams/upstream-health.service.js';
import { type Dispatch, type Sent, Sender } from '../exchange/sender.service.js';
import { carriedCapabilities, requireCarried } from './carried.js';
import { MODERN_VERSIONS } from '../mcp-headers.js';
import { ownAnswer } from './own-answer.js';
import { toModernAnswer, toModernMessage } from './to-modern-answer.js';
import { UpstreamEras } from './upstream-eras.service.js';

/** Sends what clients of the modern era ask to upstreams that cannot be asked in that era. */
@Injectable()
export class ModernSender extends Sender {
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
    const introduction = await this.eras.of(caller.connection, scope.signal);
    if (method === 'server/discover') return { answer: ownAnswer(discovery(id, introduction)) };
    requireCarried(message);
    const { answer, sentId } = await super.send(dispatch);
    return { answer: toModernAnswer(answer, { method, serverInfo: introduction.serverInfo }), sentId };
  }
}

/** @param id JSON text */
function discovery(id: string, { capabilities, instructions, serverInfo }: Introduction): string {
  const result = {
    supportedVersions: MODERN_VERSIONS,
    capabilities: carriedCapabilities(capabilities),
    ...(instructions !== undefined && { instructions }),
  };
  const text = `{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`;
  return toModernMessage(text, { method: 'server/discover', serverInfo });
}
