import type { Provider, Type } from '@nestjs/common';
import { ProxyTelemetry } from '../../telemetry/proxy-telemetry.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.service.js';
import { ReplyWriter } from '../exchange/reply-writer.service.js';
import { RequestExchange } from '../exchange/request-exchange.service.js';
import { Sender } from '../exchange/sender.service.js';
import { ToolCalls } from '../exchange/tool-calls.service.js';
import { SessionOpening } from '../session/session-opening.service.js';
import { TaskOwners } from '../tasks/task-owners.service.js';
import { CallsToCancel } from './calls-to-cancel.service.js';
import { ModernExchange } from './modern-exchange.service.js';
import { ModernRequests } from './modern-requests.js';
import { ModernSender } from './modern-sender.service.js';
import { OpeningRequests } from './opening-requests.js';
import { OpeningSender } from './opening-sender.service.js';
import { TranslatedSessionOpening } from './translated-session-opening.service.js';
import { UpstreamEras } from './upstream-eras.service.js';

/** What lets callers and upstreams of different protocol eras meet on the direct paths. */
export const TRANSLATION_PROVIDERS: Provider[] = [
  UpstreamEras,
  ModernSender,
  requestsWith(ModernRequests, ModernSender, SessionOpening),
  ModernExchange,
  OpeningSender,
  TranslatedSessionOpening,
  requestsWith(OpeningRequests, OpeningSender, TranslatedSessionOpening),
  CallsToCancel,
];

/** The way that every request takes, but for how it is sent and its session opened. */
function requestsWith(
  requests: new (...parts: ConstructorParameters<typeof RequestExchange>) => RequestExchange,
  sender: Type<Sender>,
  opening: Type<SessionOpening>,
): Provider {
  return {
    provide: requests,
    inject: [ToolCalls, ProxyTelemetry, sender, opening, ToolCatalog, TaskOwners, ReplyWriter],
    useFactory: (...parts: ConstructorParameters<typeof RequestExchange>) => new requests(...parts),
  };
}
