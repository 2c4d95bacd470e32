import { Module } from '@nestjs/common';
import { ConnectionsModule } from '../../connections/connections.module.js';
import { CredentialsModule } from '../../identity/credentials/credentials.module.js';
import { UpstreamsModule } from '../../upstreams/upstreams.module.js';
import { ForwardingModule } from '../forwarding/forwarding.module.js';
import { VaultModule } from '../../platform/vault/vault.module.js';
import { HeldCalls } from './held-calls/held-calls.js';
import { OpenQuestions } from './held-calls/open-questions.js';
import { OneWayForwarder } from './one-way-forwarder.js';
import { InitializeNegotiator } from './initialize-negotiator.js';
import { LegacyRequestTranslator } from './legacy-request-translator.js';
import { ModernRequestTranslator } from './modern-request-translator.js';
import { ChangeSubscriptions } from './subscriptions/change-subscriptions.js';
import { LegacySubscriptions } from './subscriptions/legacy-subscriptions.js';
import { SessionNotifications } from './subscriptions/session-notifications.js';
import { SessionSubscriptions } from './subscriptions/session-subscriptions.js';
import { UpstreamEras } from './upstream-eras.js';

/** Translates between callers and upstreams of different protocol eras. */
@Module({
  imports: [ConnectionsModule, CredentialsModule, ForwardingModule, UpstreamsModule, VaultModule],
  providers: [
    ChangeSubscriptions,
    HeldCalls,
    InitializeNegotiator,
    LegacyRequestTranslator,
    LegacySubscriptions,
    ModernRequestTranslator,
    OneWayForwarder,
    OpenQuestions,
    SessionNotifications,
    SessionSubscriptions,
    UpstreamEras,
  ],
  exports: [
    ChangeSubscriptions,
    LegacyRequestTranslator,
    ModernRequestTranslator,
    OneWayForwarder,
    SessionNotifications,
    SessionSubscriptions,
    UpstreamEras,
  ],
})
export class TranslationModule {}
