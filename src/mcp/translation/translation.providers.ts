import type { Provider, Type } from '@nestjs/common';
import { ProxyTelemetry } from '../../telemetry/proxy-telemetry.js';
import { ToolCatalog } from '../../upstreams/catalog/tool-catalog.js';
import { ReplyWriter } from '../forwarding/reply-writer.js';
import { RequestForwarder } from '../forwarding/request-forwarder.js';
import { UpstreamSender } from '../forwarding/upstream-sender.js';
import { ToolCalls } from '../forwarding/tool-calls.js';
import { SessionOpening } from '../forwarding/session-opening.js';
import { TaskOwners } from '../forwarding/tasks/task-owners.js';
import { CallsToCancel } from './calls-to-cancel.js';
import { ModernRequestTranslator } from './modern-request-translator.js';
import { ModernRequests } from './modern-requests.js';
import { ModernSender } from './modern-sender.js';
import { OpeningRequests } from './opening-requests.js';
import { InitializeNegotiator } from './initialize-negotiator.js';
import { TranslatedSessionOpening } from './translated-session-opening.js';
import { UpstreamEras } from './upstream-eras.js';

/** What lets callers and upstreams of different protocol eras meet on the direct paths. */
export const TRANSLATION_PROVIDERS: Provider[] = [
  UpstreamEras,
  ModernSender,
  requestsWith(ModernRequests, ModernSender, SessionOpening),
  ModernRequestTranslator,
  InitializeNegotiator,
  TranslatedSessionOpening,
  requestsWith(OpeningRequests, InitializeNegotiator, TranslatedSessionOpening),
  CallsToCancel,
];

/** The way that every request takes, but for how it is sent and its session opened. */
function requestsWith(
  requests: new (...parts: ConstructorParameters<typeof RequestForwarder>) => RequestForwarder,
  sender: Type<UpstreamSender>,
  opening: Type<SessionOpening>,
): Provider {
  return {
    provide: requests,
    inject: [ToolCalls, ProxyTelemetry, sender, opening, ToolCatalog, TaskOwners, ReplyWriter],
    useFactory: (...parts: ConstructorParameters<typeof RequestForwarder>) => new requests(...parts),
  };
}
